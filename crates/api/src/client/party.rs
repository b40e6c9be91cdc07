//! Parties and the matchmaker: the list of parties, and stats. Everything else goes over the socket.

use super::ClientApi;
use crate::routing::Routes;
use aether_messages::operation::{GetMatchmakerStats, ListParties};
use http::Method;

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes
        .address::<ListParties>(Method::GET, "/v2/party")
        .address::<GetMatchmakerStats>(Method::GET, "/v2/matchmaker/stats")
}
