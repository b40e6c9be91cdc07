//! Functions: `rpc`, the operation of `/v2/rpc/{id}`.

use super::{Dispatched, Origin};
use aether_messages::api::Rpc;
use aether_messages::operation::RpcFunc;
use aether_messages::realtime::envelope::Message;

pub(super) fn call(origin: &Origin<'_>, request: Rpc) -> Dispatched {
    // The key is for servers, over HTTP.
    let request = Rpc { http_key: String::new(), ..request };
    Dispatched::Function(origin.call::<RpcFunc>(request, |answer| Some(Message::Rpc(answer))))
}
