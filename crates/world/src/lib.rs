//! Entities and replicated components in columns.
//!
//! A [`World`] holds one column per component type, indexed by the entity's slot. Writing marks; once a tick
//! [`World::settle`] snaps what was written to the wire's grid and notes what really changed, so the cost of a tick
//! follows what was touched, not how much there is.

mod changes;
mod column;
mod entities;
mod places;
mod rewind;
mod versions;
mod world;

pub use changes::LastChanges;
pub use column::{AnyColumn, Column};
pub use entities::Visibility;
pub use places::Places;
pub use rewind::Rewind;
pub use world::{ENTITY_BITS_MAX, SpawnError, VERSIONS_DEFAULT, World, WorldBuilder, bits_of, hash_entity};
