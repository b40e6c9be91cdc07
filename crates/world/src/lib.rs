//! Entities and replicated components in columns.
//!
//! A [`World`] holds one column per component type, indexed by the entity's slot. Writing marks; once a tick
//! [`World::settle`] snaps what was written to the wire's grid and notes what really changed, so the cost of a tick
//! follows what was touched, not how much there is.
//!
//! A component is a Rust type with the derive, or a [`RecordType`](aether_bits::runtime::RecordType) that was declared
//! at run time. Both live in the same [`ComponentRows`], and their bytes and hashes are the same.

mod changes;
mod column;
mod entities;
mod packing;
mod positions;
mod rewind;
mod versions;
mod world;

pub use changes::LastChanges;
pub use column::{AnyColumn, Column, ComponentRows, DescribedColumn};
pub use entities::Visibility;
pub use packing::{DescribedPacking, RowPacking, TypedPacking};
pub use positions::Positions;
pub use rewind::Rewind;
pub use world::{ENTITY_BITS_MAX, SpawnError, VERSIONS_DEFAULT, World, WorldBuilder, bits_of, hash_entity};
