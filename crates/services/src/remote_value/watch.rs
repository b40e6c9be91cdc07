//! Live changes of remote values: sessions that watch them learn which key has changed.
//!
//! A watcher is a hidden presence in the stream of the values. The change names the key only, because a value depends on
//! the player; the client then asks for its values.

use crate::caller::CallContext;
use crate::calls::Functions;
use crate::error::{GrpcCode, ServiceError};
use crate::router::{PresenceMeta, StreamId, mode};
use crate::services::Services;
use serde::Serialize;
use std::sync::Arc;
use uuid::Uuid;

/// Change of a remote value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ValueChange {
    /// Key.
    pub key: String,
    /// Number of the change; none if the value was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
}

/// Returns the stream of those who watch the values.
#[must_use]
pub fn watch_stream() -> StreamId {
    StreamId { mode: mode::REMOTE_VALUES, ..StreamId::default() }
}

/// Adds `remote_values_watch` and `remote_values_unwatch` for clients of the socket, except where the program has a
/// function of the same name.
pub fn register_functions(functions: &mut Functions) {
    // Fails only if the name is taken.
    let _ = functions.register_rpc("remote_values_watch", watch);
    let _ = functions.register_rpc("remote_values_unwatch", unwatch);
}

/// Watches the values. Changes arrive as stream data.
async fn watch(services: Arc<Services>, context: Arc<CallContext>, _: String) -> Result<String, ServiceError> {
    let meta = PresenceMeta { hidden: true, ..PresenceMeta::default() };
    services.router.track(session_of(&context)?, &watch_stream(), meta)?;
    Ok("{}".to_owned())
}

async fn unwatch(services: Arc<Services>, context: Arc<CallContext>, _: String) -> Result<String, ServiceError> {
    services.router.untrack(session_of(&context)?, &watch_stream());
    Ok("{}".to_owned())
}

fn session_of(context: &CallContext) -> Result<Uuid, ServiceError> {
    const NO_SOCKET: ServiceError =
        ServiceError::new(GrpcCode::FailedPrecondition, "Changes of values arrive over a socket. Call it over /ws.");
    context.socket.ok_or(NO_SOCKET)
}
