//! Transports and connections: from bytes to messages and back, outside the tick.
//!
//! A [`Gateway`] serves clients over any [`Transport`]: it waits for their hello, asks the [`lobby::Lobby`] where they
//! belong, and then carries messages between the client and its room. It meets a room only at two bounded queues.

mod bucket;
mod buffers;
pub mod certificate;
mod connection;
mod counters;
mod encoding;
mod gateway;
pub mod lobby;
pub mod memory;
mod readable;
pub mod relay;
mod shares;
mod transport;
pub mod websocket;
pub mod webtransport;

pub use bucket::{Bucket, Rate};
pub use counters::Counters;
pub use encoding::Encoding;
pub use gateway::{ConnectionSettings, Gateway, Ticket, Visitor, close_code};
pub use shares::{Share, Shares, network_of};
pub use transport::{Ended, Goodbye, Path, Received, Take, Transport, Violation};
