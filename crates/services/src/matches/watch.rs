//! The live list of matches: sessions that watch it get its changes.
//!
//! A watcher is a hidden presence in the stream of the list. The host of the matches publishes the changes there.

use super::{MATCHES_LISTED_MAX, MatchFilter, MatchInfo};
use crate::caller::CallContext;
use crate::calls::{Functions, MATCH_TYPE_NAME_BYTES_MAX, invalid_body};
use crate::error::{GrpcCode, INTERNAL, ServiceError};
use crate::router::{PresenceMeta, StreamId, mode};
use crate::services::Services;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use uuid::Uuid;

/// Changes of the list of matches since the last ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MatchListChanges {
    /// Matches that are new or have changed.
    pub matches: Vec<MatchInfo>,
    /// Ids of matches that have ended.
    pub ended: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Watched {
    /// Type of the matches; all if it is empty.
    #[serde(default, rename = "type")]
    match_type: String,
}

/// Returns the stream of those who watch the matches of a type, or all matches if it is empty.
#[must_use]
pub fn list_stream(match_type: &str) -> StreamId {
    StreamId { mode: mode::MATCH_LIST, label: match_type.to_owned(), ..StreamId::default() }
}

/// Adds `match_list_watch` and `match_list_unwatch` for clients of the socket.
pub(super) fn register(functions: &mut Functions) {
    // Fails only if the name is taken.
    let _ = functions.register_rpc("match_list_watch", watch);
    let _ = functions.register_rpc("match_list_unwatch", unwatch);
}

/// Watches the list and returns the current one. Changes arrive as stream data.
async fn watch(services: Arc<Services>, context: Arc<CallContext>, payload: String) -> Result<String, ServiceError> {
    let (session, Watched { match_type }) = (session_of(&context)?, read(&payload)?);
    let meta = PresenceMeta { hidden: true, ..PresenceMeta::default() };
    services.router.track(session, &list_stream(&match_type), meta)?;
    let filter = MatchFilter {
        match_type: (!match_type.is_empty()).then_some(match_type),
        private: Some(false),
        limit: Some(MATCHES_LISTED_MAX),
        ..MatchFilter::default()
    };
    let matches = services.matches()?.list(&filter).await?;
    let list = MatchListChanges { matches, ended: Vec::new() };
    serde_json::to_string(&list).map_err(|_| INTERNAL)
}

async fn unwatch(services: Arc<Services>, context: Arc<CallContext>, payload: String) -> Result<String, ServiceError> {
    let (session, Watched { match_type }) = (session_of(&context)?, read(&payload)?);
    services.router.untrack(session, &list_stream(&match_type));
    Ok("{}".to_owned())
}

fn session_of(context: &CallContext) -> Result<Uuid, ServiceError> {
    const NO_SOCKET: ServiceError =
        ServiceError::new(GrpcCode::FailedPrecondition, "Changes of the list arrive over a socket. Call it over /ws.");
    context.socket.ok_or(NO_SOCKET)
}

fn read(payload: &str) -> Result<Watched, ServiceError> {
    let payload = if payload.is_empty() { "{}" } else { payload };
    let watched: Watched = serde_json::from_str(payload).map_err(|error| invalid_body(&error))?;
    if watched.match_type.len() > MATCH_TYPE_NAME_BYTES_MAX {
        return Err(ServiceError::invalid(format!("A type has at most {MATCH_TYPE_NAME_BYTES_MAX} bytes.")));
    }
    Ok(watched)
}
