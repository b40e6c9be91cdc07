//! Scripts, for operators.

use super::Admin;
use crate::routing::Routes;
use aether_services::admin::script::{ListScripts, ReloadScripts};
use http::Method;

pub(super) fn routes(routes: Routes<Admin>) -> Routes<Admin> {
    routes
        .address::<ListScripts>(Method::GET, "/api/scripts")
        .address::<ReloadScripts>(Method::POST, "/api/scripts/reload")
}
