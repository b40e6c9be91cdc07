//! Functions by which rooms ask for more players, with JSON.

use super::ticket::Properties;
use super::{BackfillRequest, MatchmakerError};
use crate::calls::{Functions, invalid_body};
use crate::error::{GrpcCode, ServiceError};
use crate::services::Services;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

const MATCH_NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "Match not found. It may have ended.");

/// Adds `match_backfill` and `match_backfill_cancel`, except where the program has a function of the same name.
pub(crate) fn register(functions: &mut Functions) {
    // Fails only if the name is taken.
    let _ = functions.register_call("match_backfill", backfill);
    let _ = functions.register_call("match_backfill_cancel", cancel);
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Backfill {
    id: String,
    /// Players of the match; by default those who have joined.
    players: Option<usize>,
    /// Players that it wants in addition; by default as many as there is room for.
    seats: Option<usize>,
    #[serde(default)]
    query: String,
    #[serde(default)]
    string_properties: BTreeMap<String, String>,
    #[serde(default)]
    numeric_properties: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    id: String,
}

async fn backfill(services: Arc<Services>, payload: Vec<u8>) -> Result<Option<Vec<u8>>, ServiceError> {
    let request: Backfill = serde_json::from_slice(&payload).map_err(|error| invalid_body(&error))?;
    let info = services.matches()?.find(&request.id).await?.ok_or(MATCH_NOT_FOUND)?;
    let players = request.players.unwrap_or(info.players as usize);
    services.matchmaker.request_backfill(BackfillRequest {
        match_id: request.id,
        players,
        seats: request.seats.unwrap_or(info.players_max.saturating_sub(players)),
        query: request.query,
        properties: Properties { strings: request.string_properties, numbers: request.numeric_properties },
    })?;
    Ok(None)
}

async fn cancel(services: Arc<Services>, payload: Vec<u8>) -> Result<Option<Vec<u8>>, ServiceError> {
    let Named { id } = serde_json::from_slice(&payload).map_err(|error| invalid_body(&error))?;
    if services.matchmaker.cancel_backfill(&id) { Ok(None) } else { Err(MatchmakerError::BackfillNotFound.into()) }
}
