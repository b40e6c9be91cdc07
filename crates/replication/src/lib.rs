//! Sending and receiving world state.
//!
//! Sending: a [`ClientView`] knows which entities a client sees and which version of each it has. For each snapshot it
//! gathers the entities that are due, [`DeltaCache`] encodes each delta once for all clients with the same baseline,
//! and the view copies the encoded ranges into packets. Receiving: a [`Mirror`] is the client's copy of the world.

mod assemble;
mod blocks;
mod deltas;
mod gather;
mod in_flight;
mod mirror;
mod packet;
mod packet_writer;
mod replica;
mod rings;
mod settings;
mod view;
mod view_entities;

pub use assemble::PacketSink;
pub use deltas::{ComponentBits, DeltaCache};
pub use gather::GatherBuffer;
pub use mirror::{AppliedPacket, Mirror, MirrorBuilder};
pub use packet::BASELINE_AGE_MAX;
pub use settings::{DeliveryOrder, SendSettings, UpdateRing};
pub use view::{ClientView, SnapshotContext};
