//! Sending and receiving world state.
//!
//! Sending: a [`ClientView`] knows, per client, what that client sees and which version of it the client has. Per snapshot it
//! gathers what is due, [`DeltaCache`] encodes each difference once for all clients that share it, and the view picks the
//! encoded ranges into packets. Receiving: a [`Mirror`] is the client's copy.

mod assemble;
mod blocks;
mod deltas;
mod flight;
mod gather;
mod mirror;
mod packet;
mod replica;
mod roster;
mod settings;
mod view;

pub use assemble::PacketSink;
pub use deltas::{ComponentBits, DeltaCache};
pub use gather::GatherBuffer;
pub use mirror::{AppliedPacket, Mirror, MirrorBuilder};
pub use packet::BASELINE_AGE_MAX;
pub use settings::{DeliveryOrder, SendSettings, UpdateRing};
pub use view::{ClientView, SnapshotContext};
