//! Stored objects.
//!
//! What a client writes and removes is its user's own; an object without a user id in a reading request belongs to the
//! server.

use super::ClientApi;
use crate::routing::Routes;
use aether_messages::operation::{DeleteStorageObjects, ListStorageObjects, ReadStorageObjects, WriteStorageObjects};
use http::Method;

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes
        .body::<ReadStorageObjects>(Method::POST, "/v2/storage")
        .body::<WriteStorageObjects>(Method::PUT, "/v2/storage")
        .body::<DeleteStorageObjects>(Method::PUT, "/v2/storage/delete")
        .address::<ListStorageObjects>(Method::GET, "/v2/storage/{collection}")
        .address::<ListStorageObjects>(Method::GET, "/v2/storage/{collection}/{user_id}")
}
