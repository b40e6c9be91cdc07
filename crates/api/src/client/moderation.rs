//! Reports of players. The protocol has none; this operation and its messages are extensions of Aether, in
//! [`operation`](aether_services::moderation::operation).

use super::ClientApi;
use crate::routing::Routes;
use aether_services::moderation::operation::ReportPlayer;
use http::Method;

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes.body::<ReportPlayer>(Method::POST, "/v2/report")
}
