//! Components, inputs, events and messages declared at run time.
//!
//! A [`SchemaBuilder`] takes the same declarations as the [`Replicate`](macro@crate::Replicate) derive, and applies the
//! limits of schemas from peers. A [`RecordType`] packs, snaps and hashes a [`Record`] into the same bits as a derived
//! type of the same declaration.
//!
//! ```
//! use aether_bits::runtime::{FieldBuilder, RecordBuilder, SchemaBuilder};
//!
//! let mut schema = SchemaBuilder::default();
//! let ship = schema.component(
//!     RecordBuilder::new("Ship")
//!         .channel("movement")
//!         .position("position")
//!         .field("position", FieldBuilder::numbers(2, -1000.0..=1000.0, 0.01).moves_by("velocity"))
//!         .field("velocity", FieldBuilder::numbers(2, -50.0..=50.0, 0.01))
//!         .field("shield", FieldBuilder::flag()),
//! )?;
//! let schema = schema.build();
//! let ship = schema.component(ship).expect("it was just added");
//! let position = ship.field("position")?;
//! let mut record = ship.initial();
//! ship.edit(&mut record).set_numbers(position, &[10.0, 20.0])?;
//! assert_eq!(record.numbers(position), Some(&[10.0, 20.0][..]));
//! assert!(ship.edit(&mut record).set_numbers(position, &[10_000.0, 0.0]).is_err(), "it is out of range");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
mod dynamic;
mod error;
mod field;
mod record;
mod schema;

pub use builder::{PRIVATE_FIELDS_MAX, RecordBuilder};
pub use dynamic::DynamicValue;
pub use error::{SchemaError, SchemaProblem, ValueError};
pub use field::FieldBuilder;
pub use record::{FieldHandle, Record, RecordMut, RecordType};
pub use schema::{ComponentHandle, EventHandle, RuntimeSchema, SchemaBuilder};
