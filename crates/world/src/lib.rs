//! Entities and replicated components in columns.
//!
//! A [`World`] has one column per component type, indexed by the entity's slot. A write marks the slot. Once a tick,
//! [`World::settle`] snaps the written values to the grid of the wire and finds the changed ones. The cost of a tick
//! depends on the number of writes, not on the number of entities.
//!
//! A component is a Rust type with the derive, or a [`RecordType`](aether_bits::runtime::RecordType) that was declared
//! at run time. Both are stored in [`ComponentRows`] and have the same bytes and hashes.

mod changes;
mod column;
mod entities;
mod packing;
mod positions;
mod query;
mod rewind;
mod versions;
mod world;

pub use changes::LastChanges;
pub use column::{AnyColumn, Column, ComponentRows, DescribedColumn};
pub use entities::Visibility;
pub use packing::{DescribedPacking, RowPacking, TypedPacking};
pub use positions::Positions;
pub use query::{FoundEntity, QueryVector, SpatialQuery};
pub use rewind::Rewind;
pub use world::{ENTITY_BITS_MAX, SpawnError, VERSIONS_DEFAULT, World, WorldBuilder, bits_of, hash_entity};
