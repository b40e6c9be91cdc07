//! Native client: connections over every transport, and a client for game loops that must not block.
//!
//! [`NativeClient`] is for games: an [`aether_client::Client`] with its connection. For tests and tools, a
//! [`Connector`] opens a [`Connection`] over one [`TransportKind`], which sends and receives single messages.
//!
//! Over `https://` a server must have a certificate that is valid by the [`TrustStore`].

mod address;
mod connection;
mod connector;
mod device_sign_in;
mod error;
mod http;
mod native_client;
mod stream;
mod token_source;
mod transport;
mod transport_chooser;
mod trust_store;
mod websocket;
mod webtransport;

pub use address::{ServerAddress, ServerAddressError};
pub use connection::{Connection, QUEUED_BYTES_MAX};
pub use connector::{CONNECT_TIME_MAX, Connector};
pub use device_sign_in::DeviceSignIn;
pub use error::ConnectionError;
pub use http::HttpError;
pub use native_client::{NativeClient, NativeClientSettings};
pub use token_source::TokenSource;
pub use transport::TransportKind;
pub use transport_chooser::TransportPreference;
pub use trust_store::{TrustStore, TrustStoreError};
