//! Transports and connections: from bytes to messages and back, outside the tick.
//!
//! A connection is a driver and a [`Protocol`]. The driver reads, writes and watches the time, the same for every
//! [`Transport`] and every protocol; the protocol gives messages their meaning. [`Connections`] holds what all of them
//! share.
//!
//! A [`Gateway`] serves clients of rooms: their protocol waits for a hello, asks the [`lobby::Lobby`] where they belong, and
//! then carries messages between the client and its room. It meets a room only at two bounded queues.

mod buffers;
pub mod certificate;
mod connection;
mod connections;
mod counters;
mod gateway;
pub mod lobby;
pub mod memory;
mod protocol;
pub mod relay;
mod transport;
pub mod websocket;
pub mod webtransport;

pub use connection::{ConnectionEnd, MessageClass, MessageRates, OutgoingMessages, RateMeter};
pub use connections::{ConnectionPermit, ConnectionSettings, Connections};
pub use counters::ConnectionMetrics;
pub use gateway::{Gateway, PendingClient};
pub use protocol::Protocol;
pub use transport::{CloseNotice, MessageSink, ReceiveOutcome, Transport, TransportEnded};
