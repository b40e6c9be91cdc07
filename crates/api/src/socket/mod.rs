//! The services socket, `GET /ws`: messages of clients in the realtime protocol of existing client SDKs.
//!
//! `upgrade` admits the client, `protocol` implements its connection on the driver of `aether-net`, and `requests` holds
//! the requests in flight. `dispatch` calls the operation of each message in the call table of the services; the
//! nouns are `matches`, `rpc`, `status` and `unbuilt`. Everything that the server sends unasked comes from the router of the
//! services ([`aether_services::router`]).

mod dispatch;
mod error;
mod protocol;
mod requests;
mod upgrade;

pub(crate) use upgrade::upgrade;

use crate::client::ClientApi;
use crate::routing::Calls as _;
use aether_limits::RateLimit;
use aether_messages::Operation;
use aether_messages::socket::{
    MatchCreate, MatchDataSend, MatchJoin, MatchLeave, Ping, StatusFollow, StatusUnfollow, StatusUpdate,
};
use aether_net::Gateway;
use aether_services::Services;
use aether_services::calls::{RatePreset, Serve};
use std::sync::Arc;
use std::time::Duration;

/// Settings of the services socket.
#[derive(Clone, Debug)]
pub struct SocketSettings {
    /// Name of this node.
    pub node: Arc<str>,
    /// Upper bound of a client's message, in bytes.
    pub message_bytes_max: usize,
    /// Requests of one connection that run at a time. Further ones wait.
    pub requests_max: usize,
    /// Longest time of a request.
    pub request_time_max: Duration,
    /// Rate of requests of one connection.
    pub rate: RateLimit,
}

/// Returns the names and rate presets of the operations that only the socket has.
pub(crate) fn operations() -> [(&'static str, RatePreset); 8] {
    fn named<O: Serve>() -> (&'static str, RatePreset) {
        (<O as Operation>::NAME, O::PRESET)
    }
    [
        named::<MatchCreate>(),
        named::<MatchDataSend>(),
        named::<MatchJoin>(),
        named::<MatchLeave>(),
        named::<Ping>(),
        named::<StatusFollow>(),
        named::<StatusUnfollow>(),
        named::<StatusUpdate>(),
    ]
}

/// The server behind the sockets.
#[derive(Clone)]
struct SocketServer {
    gateway: Arc<Gateway>,
    client_api: ClientApi,
    settings: SocketSettings,
}

impl SocketServer {
    fn services(&self) -> &Arc<Services> {
        self.client_api.services()
    }
}
