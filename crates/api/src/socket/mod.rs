//! The services socket, `GET /ws`: messages of clients in the realtime protocol of existing client SDKs.
//!
//! `upgrade` admits the client, `protocol` implements its connection on the driver of `aether-net`, and `requests` holds
//! the requests in flight. `dispatch` calls the operation of each message in the call table of the services. Everything
//! that the server sends unasked comes from the router of the services ([`aether_services::router`]).

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
    ChannelJoin, ChannelLeave, ChannelMessageRemove, ChannelMessageSend, ChannelMessageUpdate, MatchCreate,
    MatchDataSend, MatchJoin, MatchLeave, MatchmakerAdd, MatchmakerRemove, PartyAccept, PartyClose, PartyCreate,
    PartyDataSend, PartyJoin, PartyJoinRequestList, PartyLeave, PartyMatchmakerAdd, PartyMatchmakerRemove,
    PartyPromote, PartyRemove, PartyUpdate, Ping, StatusFollow, StatusUnfollow, StatusUpdate,
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
pub(crate) fn operations() -> Vec<(&'static str, RatePreset)> {
    fn named<O: Serve>() -> (&'static str, RatePreset) {
        (<O as Operation>::NAME, O::PRESET)
    }
    vec![
        named::<ChannelJoin>(),
        named::<ChannelLeave>(),
        named::<ChannelMessageSend>(),
        named::<ChannelMessageUpdate>(),
        named::<ChannelMessageRemove>(),
        named::<MatchCreate>(),
        named::<MatchDataSend>(),
        named::<MatchJoin>(),
        named::<MatchLeave>(),
        named::<Ping>(),
        named::<StatusFollow>(),
        named::<StatusUnfollow>(),
        named::<StatusUpdate>(),
        named::<MatchmakerAdd>(),
        named::<MatchmakerRemove>(),
        named::<PartyCreate>(),
        named::<PartyJoin>(),
        named::<PartyLeave>(),
        named::<PartyPromote>(),
        named::<PartyAccept>(),
        named::<PartyRemove>(),
        named::<PartyClose>(),
        named::<PartyUpdate>(),
        named::<PartyJoinRequestList>(),
        named::<PartyMatchmakerAdd>(),
        named::<PartyMatchmakerRemove>(),
        named::<PartyDataSend>(),
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
