//! A server inside a test, clients that connect to it over real sockets, and games that misbehave on demand.
//!
//! ```no_run
//! # async fn example() {
//! use aether_testkit_server::{JSON, TestServer, TransportKind};
//!
//! let server = TestServer::start(|config| config.rooms.max = 3).await;
//! let hello = server.hello("sandbox");
//! let player = server.join(TransportKind::WebSocket, JSON, &hello).await;
//! assert_eq!(player.welcome.tick_hz, 40);
//! server.stop().await;
//! # }
//! ```

mod api;
pub mod durability;
mod forgery;
mod http;
pub mod logins;
mod player;
mod process;
mod raw;
pub mod seeing_player;
mod server;
mod services_socket;
pub mod slow_start;
pub mod workshop;

pub use aether_client_native::{Connection, ConnectionError, Connector, TransportKind};
pub use aether_server;
pub use aether_wire::{DeliveryPath, Encoding};
pub use api::{ApiClient, NoAnswer};
pub use forgery::Forger;
pub use http::HttpAnswer;
pub use player::{End, TestPlayer};
pub use process::{Process, command};
pub use raw::{RawSocket, masked};
pub use server::{TestServer, unix_seconds, until};
pub use services_socket::{ServicesSocket, SocketInput};

use std::time::Duration;

/// Time limit of everything that a test waits for. It is long, because a busy machine is slow.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// The transports of browsers, which carry every encoding.
pub const TRANSPORTS: [TransportKind; 2] = [TransportKind::WebSocket, TransportKind::WebTransport];

/// The transports of native clients, for protobuf messages.
pub const NATIVE_TRANSPORTS: [TransportKind; 3] =
    [TransportKind::WebSocket, TransportKind::WebTransport, TransportKind::Udp];

/// JSON messages.
pub const JSON: Encoding = Encoding::Json;

/// Protobuf messages.
pub const PROTOBUF: Encoding = Encoding::Protobuf;
