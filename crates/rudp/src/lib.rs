//! Reliable UDP as a state machine: bytes and time in, bytes and time out.
//!
//! Nothing here owns a socket, a clock or a thread. A [`Client`] and an [`Acceptor`] do the handshake; both end in a
//! [`Connection`], which seals, numbers, acknowledges, resends and paces. Time is the [`Duration`] since any fixed moment
//! of the endpoint.
//!
//! The types are written with the crate's name: `use aether_rudp as rudp`, then `rudp::Connection`. The packets are drawn
//! in `WIRE_FORMAT.md`, the reasons are in `docs/decisions/0080-reliable-udp-of-our-own.md`.
//!
//! [`Duration`]: std::time::Duration

mod acceptor;
mod ack;
mod bytes;
mod challenge;
mod channel;
mod channels;
mod client;
mod congestion;
mod connection;
mod connection_id;
mod drop_reason;
mod frame;
mod handshake;
mod key_exchange;
mod limits;
mod pacer;
mod packet;
mod path;
mod recovery;
mod replay_window;
mod round_trip;
mod seal;
mod sent_ring;
mod settings;
mod state;
mod stats;
mod token;
mod used_tokens;

pub use acceptor::{Accepted, Acceptor, Handshake};
pub use channel::{Channel, SendError};
pub use client::Client;
pub use connection::Connection;
pub use connection_id::ConnectionId;
pub use drop_reason::DropReason;
pub use limits::{
    ACCOUNT_BYTES_MAX, DATAGRAM_BYTES_MAX, MESSAGE_BYTES_MAX, REQUEST_BYTES, UNRELIABLE_BYTES_MAX, USED_TOKENS_MAX,
};
pub use settings::Settings;
pub use state::{CloseCause, ConnectionState};
pub use stats::ConnectionStats;
pub use token::{BadConnectToken, ConnectToken, RandomError, TokenGrant, TokenKey};
