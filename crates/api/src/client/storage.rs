//! Stored objects.
//!
//! A client writes and deletes only objects of its own user. In a read request, an object without a user id belongs to
//! the server.

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
