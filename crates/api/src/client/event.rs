//! Events that clients report.

use super::ClientApi;
use crate::routing::Routes;
use aether_messages::operation::Event as ReportEvent;
use http::Method;

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes.body::<ReportEvent>(Method::POST, "/v2/event")
}
