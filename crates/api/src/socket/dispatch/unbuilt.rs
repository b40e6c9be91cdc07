//! Messages of the protocol that are not built yet. They are answered with an error that names the missing feature; the
//! connection stays open.

use super::Dispatched;
use crate::socket::error::SocketError;
use aether_messages::realtime::error::Code;

/// Features by the start of the names of their messages; the first match counts.
const FEATURES: [(&str, &str); 1] = [("Channel", "chat")];

pub(super) fn answer(name: &'static str) -> Dispatched {
    let feature = FEATURES.iter().find(|(start, _)| name.starts_with(start)).map_or("it", |(_, feature)| feature);
    let message = format!("{name} is not built yet: this server does not have {feature} so far.");
    Dispatched::Ordered(Box::pin(async move { Err(SocketError::new(Code::RuntimeException, message)) }))
}
