//! Transports and connections: from bytes to messages and back, outside the tick.
//!
//! A [`Gateway`] serves clients over any [`Transport`]: it waits for their hello, asks the [`lobby::Lobby`] where they
//! belong, and then carries messages between the client and its room. It meets a room only at two bounded queues.

mod buffers;
pub mod certificate;
mod connection;
mod counters;
mod gateway;
pub mod lobby;
pub mod memory;
mod readable;
pub mod relay;
mod transport;
pub mod websocket;
pub mod webtransport;

pub use counters::Counters;
pub use gateway::{ConnectionSettings, Gateway, Ticket, Visitor};
pub use transport::{Ended, Goodbye, Path, Received, Take, Transport};
