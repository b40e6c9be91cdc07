//! Remote values, for operators.

use super::Admin;
use crate::routing::Routes;
use aether_services::admin::remote_value::{DeleteRemoteValue, GetRemoteValue, ListAllRemoteValues, SetRemoteValue};
use http::Method;

pub(super) fn routes(routes: Routes<Admin>) -> Routes<Admin> {
    routes
        .address::<ListAllRemoteValues>(Method::GET, "/api/values")
        .address::<GetRemoteValue>(Method::GET, "/api/values/{key}")
        .field::<SetRemoteValue, _>(Method::POST, "/api/values/{key}", |to, body| to.contents = Some(body))
        .address::<DeleteRemoteValue>(Method::DELETE, "/api/values/{key}")
}
