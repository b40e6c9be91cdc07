//! Transports and connections: from bytes to messages and back, outside the tick.
//!
//! A connection is a driver and a [`Protocol`]. The driver reads, writes and checks deadlines, the same for every
//! [`Transport`] and protocol; the protocol interprets the messages. [`Connections`] holds the shared limits, metrics
//! and clock.
//!
//! A [`Gateway`] serves clients of rooms. The room protocol waits for a hello, asks the [`lobby::Lobby`] for a room,
//! and then passes messages between the client and the room. Two bounded queues are the only connection to a room.

mod buffers;
pub mod certificate;
mod connection;
mod connections;
mod gateway;
pub mod lobby;
pub mod memory;
mod metrics;
pub mod multicast;
mod protocol;
pub mod relay;
#[cfg(target_os = "linux")]
pub mod shared_memory;
mod transport;
pub mod udp;
mod waking;
pub mod websocket;
pub mod webtransport;

pub use connection::{ConnectionEnd, MessageClass, MessageRates, OutgoingMessages, RateMeter};
pub use connections::{ConnectionPermit, ConnectionSettings, Connections};
pub use gateway::{Gateway, PendingClient};
pub use metrics::ConnectionMetrics;
pub use protocol::Protocol;
pub use protocol::room::to_json as fields_to_json;
pub use transport::{CloseNotice, MessageSink, ReceiveOutcome, Transport, TransportEnded};
pub use waking::WakeTask;
