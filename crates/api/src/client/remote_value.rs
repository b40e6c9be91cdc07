//! Remote values. The protocol has none; this operation and its messages are extensions of Aether, in
//! [`operation`](aether_services::remote_value::operation).

use super::ClientApi;
use crate::routing::Routes;
use aether_services::remote_value::operation::ListRemoteValues;
use http::Method;

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes.address::<ListRemoteValues>(Method::GET, "/v2/values")
}
