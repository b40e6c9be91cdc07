//! Multicast on the local network: answers to those who look for servers and rooms, and streams of rooms for spectators.
//!
//! A [`MulticastServer`] listens on one multicast group. A query is answered by unicast, never with more bytes than it
//! had. A watch starts the stream of a room, which ends when nobody has repeated the watch for a while. All viewers of a
//! room share its stream: the server sends each frame once, to a group of the stream. `aether_wire::lan` has the packets.

mod metrics;
mod rooms;
mod server;
mod settings;
mod signer;
mod sockets;
mod sources;
mod stream;

pub use rooms::{LanRooms, SpectatedRoom};
pub use server::MulticastServer;
pub use settings::MulticastSettings;
pub use signer::ServerSigner;
