//! Stored notifications: listing and deleting them. They are delivered over the socket.

use super::ClientApi;
use crate::routing::Routes;
use aether_messages::operation::{DeleteNotifications, ListNotifications};
use http::Method;

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes
        .address::<ListNotifications>(Method::GET, "/v2/notification")
        .address::<DeleteNotifications>(Method::DELETE, "/v2/notification")
}
