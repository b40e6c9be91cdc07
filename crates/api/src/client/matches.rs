//! The list of matches.

use super::ClientApi;
use crate::routing::Routes;
use aether_messages::operation::ListMatches;
use http::Method;

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes.address::<ListMatches>(Method::GET, "/v2/match")
}
