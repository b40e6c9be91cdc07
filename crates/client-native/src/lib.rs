//! Native client: connections over every transport, and a client for game loops that must not block.
//!
//! [`NativeClient`] is for games: an [`aether_client::Client`] with its connection. For tests and tools, a
//! [`Connector`] opens a [`Connection`] over one [`TransportKind`], which sends and receives single messages.
//!
//! On a local network, [`find_servers`] finds servers and rooms by multicast, and a [`Spectator`] watches a room.
//!
//! Over `https://` a server must have a certificate that is valid by the [`TrustStore`].

mod address;
mod connection;
mod connector;
mod device_sign_in;
mod error;
mod http;
mod lan;
mod native_client;
mod stream;
mod token_source;
mod transport;
mod transport_chooser;
mod transport_stats;
mod trust_store;
mod udp;
mod websocket;
mod webtransport;

pub use address::{ServerAddress, ServerAddressError};
pub use connection::{Connection, QUEUED_BYTES_MAX};
pub use connector::{CONNECT_TIME_MAX, Connector};
pub use device_sign_in::DeviceSignIn;
pub use error::ConnectionError;
pub use http::HttpError;
pub use lan::{FoundServer, LanSettings, Spectator, SpectatorError, SpectatorStats, SpectatorUpdate, find_servers};
pub use native_client::{NativeClient, NativeClientSettings};
pub use token_source::TokenSource;
pub use transport::TransportKind;
pub use transport_chooser::TransportPreference;
pub use transport_stats::TransportStats;
pub use trust_store::{TrustStore, TrustStoreError};
