//! Bit packing, quantization and component schemas.
//!
//! A game declares each replicated record once, as a struct:
//!
//! ```
//! use aether_bits::{BasisAges, DeltaBasis, BitReader, BitWriter, Replicate};
//!
//! #[derive(Clone, Replicate)]
//! #[replicate(channel = "movement", position = position)]
//! struct Ship {
//!     #[replicate(range = -1000.0..=1000.0, step = 0.01, moves_by = velocity)]
//!     position: [f32; 2],
//!     #[replicate(range = -50.0..=50.0, step = 0.01)]
//!     velocity: [f32; 2],
//!     #[replicate(angle = 8)]
//!     heading: f32,
//!     shield: bool,
//! }
//!
//! let before = Ship { position: [10.0, 20.0], velocity: [3.0, 0.0], heading: 0.0, shield: true };
//! let after = Ship { position: [10.15, 20.0], ..before.clone() };
//! let mut writer = BitWriter::new();
//! let ages = BasisAges { elapsed: 1, spacing: 0, seconds_per_tick: 0.05 };
//! let basis = DeltaBasis { value: &before, earlier: None, ages };
//! after.write_delta(basis, &mut writer);
//! assert!(writer.bytes() <= 2);
//! let bytes = writer.to_bytes();
//! let read = Ship::read_delta(basis, &mut BitReader::new(&bytes))?;
//! assert!((read.position[0] - 10.15).abs() < 0.01);
//! # Ok::<(), aether_bits::ReadError>(())
//! ```
//!
//! A field without a packing does not compile:
//!
//! ```compile_fail
//! #[derive(Clone, aether_bits::Replicate)]
//! struct Forgotten {
//!     height: f32,
//! }
//! ```

mod basis;
pub mod codec;
mod field;
mod hash;
mod random;
mod reader;
mod replicate;
pub mod runtime;
pub mod schema;
mod value;
mod writer;

pub use aether_bits_derive::Replicate;
pub use basis::{BasisAges, DeltaBasis};
pub use field::{ExpectedValue, FIELD_BITS_MAX, FieldReader, FieldWriter};
pub use hash::StateHasher;
pub use random::Random;
pub use reader::{BitReader, ReadError};
pub use replicate::{Component, Replicate};
pub use schema::{FieldKind, FieldSchema, RecordSchema, Schema};
pub use value::{SchemaValue, read_choice, write_choice};
pub use writer::BitWriter;

/// The trait and the derive for crates that use this crate as `aether::bits`. The derived code uses that path.
pub mod facade {
    pub use crate::replicate::Replicate;
    pub use aether_bits_derive::FacadeReplicate as Replicate;
}
