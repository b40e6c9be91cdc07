//! Sessions: refresh and logout.

use super::ClientApi;
use crate::routing::Routes;
use aether_messages::operation::{SessionLogout, SessionRefresh};
use http::Method;

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes
        .body::<SessionRefresh>(Method::POST, "/v2/account/session/refresh")
        .body::<SessionLogout>(Method::POST, "/v2/session/logout")
}
