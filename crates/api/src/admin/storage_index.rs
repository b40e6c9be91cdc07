//! Storage indexes, for operators.

use super::Admin;
use crate::routing::Routes;
use aether_services::admin::storage_index::ListStorageIndex;
use http::Method;

pub(super) fn routes(routes: Routes<Admin>) -> Routes<Admin> {
    routes.address::<ListStorageIndex>(Method::GET, "/api/storage-indexes/{index}")
}
