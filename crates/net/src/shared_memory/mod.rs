//! Shared-memory transport: a driver process owns the sockets, the game process talks to it through rings.
//!
//! One region of [`aether_rings`] carries all connections of a driver, as frames. Each side has a link: a thread
//! that reads its ring and puts frames into the mailbox of each connection, and a lock under which
//! connections write to the other ring. Both directions of a connection have a window, so that one slow client does not
//! fill the ring.
//!
//! | process | has |
//! |---|---|
//! | game | [`SharedMemoryServer`]: accepts drivers and their clients, each with a [`SharedMemoryTransport`] |
//! | driver | [`SharedMemoryDriver`]: passes clients of any [`Transport`](crate::Transport) on to the game |
//!
//! If a driver ends, the game's connections through it are lost, and their clients may resume through another driver. If
//! the game ends, the driver closes its clients with a reason that lets them resume.

mod driver;
mod frame;
mod link;
mod mailbox;
mod metrics;
mod outbox;
mod pump;
mod server;
mod transport;

pub use aether_rings::{AttachError, GREETING_BYTES_MAX, RING_BYTES_MAX, RING_BYTES_MIN};
pub use driver::{DriverClient, SharedMemoryDriver};
pub use server::{DriverOffer, SharedMemoryClient, SharedMemoryServer, SharedMemorySettings};
pub use transport::SharedMemoryTransport;

/// Bytes of frames that one side of a connection may send before the other has handled them.
const WINDOW_BYTES: usize = 65_536;
/// The window is extended after this many handled bytes: seldom enough to cost nothing, and long before it is used up.
const CREDIT_BYTES: usize = WINDOW_BYTES / 4;
/// A longer message is sent in several frames, so that it fits the smallest ring and leaves room for other connections.
const CHUNK_BYTES: usize = 8_192;
/// Most connections of one region.
const CONNECTIONS_MAX: usize = 65_536;
/// Longest message to a client, in bytes.
const MESSAGE_BYTES_MAX: usize = 16_777_216;
