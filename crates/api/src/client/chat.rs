//! Chat: the history of a channel. Everything else of chat goes over the socket.

use super::ClientApi;
use crate::routing::Routes;
use aether_messages::operation::ListChannelMessages;
use http::Method;

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes.address::<ListChannelMessages>(Method::GET, "/v2/channel/{channel_id}")
}
