//! Events that clients report.

use super::Desk;
use crate::routing::Routes;
use aether_messages::operation::Event as ReportEvent;
use http::Method;

pub(super) fn routes(routes: Routes<Desk>) -> Routes<Desk> {
    routes.body::<ReportEvent>(Method::POST, "/v2/event")
}
