//! Sessions: renewal and the end.

use super::Desk;
use crate::routing::Routes;
use aether_messages::operation::{SessionLogout, SessionRefresh};
use http::Method;

pub(super) fn routes(routes: Routes<Desk>) -> Routes<Desk> {
    routes
        .body::<SessionRefresh>(Method::POST, "/v2/account/session/refresh")
        .body::<SessionLogout>(Method::POST, "/v2/session/logout")
}
