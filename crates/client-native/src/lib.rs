//! A client's connections over every transport, and the client's core around them.
//!
//! [`NativeClient`] is for games: a [`aether_client::Client`] with its connection, for a loop that must never wait. Below it stand
//! the parts that are of use alone, to tests and tools: a [`Connector`] opens a [`Connection`] over one [`TransportKind`], and
//! whoever has it sends and receives messages.
//!
//! Only the servers that [`TrustStore`] vouches for are believed over `https://`.

mod address;
mod choice;
mod connection;
mod connector;
mod error;
mod http;
mod shell;
mod stream;
mod tokens;
mod transport;
mod trust;
mod websocket;
mod webtransport;

pub use address::{ServerAddress, ServerAddressError};
pub use choice::TransportPreference;
pub use connection::{Connection, QUEUED_BYTES_MAX};
pub use connector::{CONNECT_TIME_MAX, Connector};
pub use error::ConnectionError;
pub use http::HttpError;
pub use shell::{NativeClient, NativeClientSettings};
pub use tokens::TokenSource;
pub use transport::TransportKind;
pub use trust::{TrustStore, TrustStoreError};
