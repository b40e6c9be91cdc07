//! Functions that create, find, list, signal and end matches with JSON.

use super::{MatchFilter, MatchInfo, NewMatch};
use crate::calls::{Functions, invalid_body};
use crate::error::{INTERNAL, ServiceError};
use crate::matchmaker;
use crate::services::Services;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tracing::error;
use uuid::Uuid;

/// Answer of a function.
type FunctionResult = Result<Option<Vec<u8>>, ServiceError>;

/// Adds `match_create`, `match_find`, `match_list`, `match_signal`, `match_kick`, `match_end`, `match_backfill` and
/// `match_backfill_cancel` for rooms and server code, and the functions of the live list for clients, except where the program
/// has a function of the same name.
pub fn register_functions(functions: &mut Functions) {
    // Fails only if the name is taken.
    let _ = functions.register_call("match_create", create);
    let _ = functions.register_call("match_find", find);
    let _ = functions.register_call("match_list", list);
    let _ = functions.register_call("match_signal", signal);
    let _ = functions.register_call("match_kick", kick);
    let _ = functions.register_call("match_end", end);
    super::watch::register(functions);
    matchmaker::functions::register(functions);
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Signal {
    id: String,
    /// Bytes in base64.
    data: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kick {
    id: String,
    user: Uuid,
}

#[derive(Serialize)]
struct Kicked {
    /// Number of players.
    players: usize,
}

#[derive(Serialize)]
struct Found {
    #[serde(rename = "match")]
    info: Option<MatchInfo>,
}

#[derive(Serialize)]
struct Listed {
    matches: Vec<MatchInfo>,
}

#[derive(Serialize)]
struct Reply {
    /// Bytes in base64.
    data: String,
}

async fn create(services: Arc<Services>, payload: Vec<u8>) -> FunctionResult {
    let new: NewMatch = read(&payload)?;
    answer(&services.matches()?.create_with(&new).await?)
}

async fn find(services: Arc<Services>, payload: Vec<u8>) -> FunctionResult {
    let Named { id } = read(&payload)?;
    answer(&Found { info: services.matches()?.find(&id).await? })
}

async fn list(services: Arc<Services>, payload: Vec<u8>) -> FunctionResult {
    let filter: MatchFilter = read(&payload)?;
    answer(&Listed { matches: services.matches()?.list(&filter).await? })
}

async fn signal(services: Arc<Services>, payload: Vec<u8>) -> FunctionResult {
    let Signal { id, data } = read(&payload)?;
    let data = STANDARD.decode(data).map_err(|_| ServiceError::invalid("The data of a signal must be base64."))?;
    let reply = services.matches()?.signal(&id, data).await?;
    answer(&Reply { data: STANDARD.encode(reply) })
}

async fn kick(services: Arc<Services>, payload: Vec<u8>) -> FunctionResult {
    let Kick { id, user } = read(&payload)?;
    answer(&Kicked { players: services.matches()?.kick(&id, user)? })
}

async fn end(services: Arc<Services>, payload: Vec<u8>) -> FunctionResult {
    let Named { id } = read(&payload)?;
    services.matches()?.end(&id).await?;
    Ok(None)
}

fn read<T: DeserializeOwned>(payload: &[u8]) -> Result<T, ServiceError> {
    serde_json::from_slice(payload).map_err(|error| invalid_body(&error))
}

fn answer(value: &impl Serialize) -> FunctionResult {
    serde_json::to_vec(value).map(Some).map_err(|error| {
        error!(%error, "answer cannot be converted to JSON");
        INTERNAL
    })
}
