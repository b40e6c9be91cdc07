//! Requests of rooms to the services, handled outside of the tick.

use crate::presence::Presence;
use aether_engine::{Answer, Request, RoomHandle};
use aether_metrics::{Counter, Registry};
use aether_services::api::write_leaderboard_record_request::LeaderboardRecordWrite;
use aether_services::api::{
    ReadStorageObjectId, ReadStorageObjectsRequest, StorageObject, WriteLeaderboardRecordRequest, WriteStorageObject,
    WriteStorageObjectsRequest,
};
use aether_services::calls::{Functions, Serve};
use aether_services::leaderboard::RecordQuery;
use aether_services::operation::{ReadStorageObjects, WriteLeaderboardRecord, WriteStorageObjects};
use aether_services::profile::operation::ListProfiles;
use aether_services::storage::Permission;
use aether_services::{CallContext, GrpcCode, ServiceError, Services};
use aether_wire::RequestId;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

/// Most concurrent calls of one room; further ones wait.
const CALLS_AT_ONCE: usize = 16;
/// Longest time of a call. The room does not block, but its game may wait, and pending requests are limited.
const CALL_TIME_MAX: Duration = Duration::from_secs(30);
/// Pause before a full mailbox is tried again.
const MAILBOX_PAUSE: Duration = Duration::from_millis(20);
/// Number of records that `leaderboard_top` returns.
const TOP_RECORDS: i64 = 10;
/// Field of a stored object that contains bytes that are not JSON.
const BYTES_FIELD: &str = "base64";

/// Handles requests of rooms.
pub struct RoomRequests {
    services: Arc<Services>,
    /// Context of calls by rooms.
    context: Arc<CallContext>,
    /// Sessions with players in the rooms.
    pub(crate) presence: Arc<Presence>,
    answered: Counter,
    failed: Counter,
}

impl RoomRequests {
    /// Creates a handler with these services and the functions of their call table.
    #[must_use]
    pub fn new(services: Arc<Services>, registry: &Registry) -> RoomRequests {
        let counter = |outcome| {
            let help = "Requests of rooms to the services, by outcome.";
            registry.counter("aether_room_requests_total", help, &[("outcome", outcome)])
        };
        RoomRequests {
            presence: Arc::new(Presence::new(Arc::clone(&services), registry)),
            services,
            context: Arc::new(CallContext::server()),
            answered: counter("done"),
            failed: counter("failed"),
        }
    }

    pub(crate) fn services(&self) -> &Arc<Services> {
        &self.services
    }

    /// Answers the requests of one room until its queue ends. Storage requests keep their order; calls may take long
    /// and run concurrently.
    pub(crate) async fn serve(self: Arc<Self>, handle: RoomHandle, mut queue: UnboundedReceiver<(RequestId, Request)>) {
        let mut calls: JoinSet<()> = JoinSet::new();
        while let Some((id, request)) = queue.recv().await {
            let Request::Call { name, payload } = request else {
                let answer = self.answer(request).await;
                self.deliver(&handle, id, answer).await;
                continue;
            };
            while calls.len() >= CALLS_AT_ONCE {
                calls.join_next().await;
            }
            let (requests, handle) = (Arc::clone(&self), handle.clone());
            calls.spawn(async move {
                let answer = requests.call(&name, payload).await;
                requests.deliver(&handle, id, answer).await;
            });
        }
        calls.join_all().await;
    }

    async fn answer(&self, request: Request) -> Answer {
        let outcome = match request {
            Request::Read { owner, collection, key } => self.read(&owner, collection, key).await,
            Request::Write { owner, collection, key, value } => self.write(&owner, (collection, key), &value).await,
            Request::Profile { user, profile } => self.profile(&user, profile.as_deref()).await,
            Request::SubmitScore { board, user, score } => self.submit(&board, &user, score).await,
            Request::Call { name, payload } => return self.call(&name, payload).await,
        };
        outcome.unwrap_or_else(|error| Answer::Failed(error.to_string()))
    }

    /// Reads an object. One that a client may write is treated as missing: the game would believe what the client says.
    async fn read(&self, owner: &str, collection: String, key: String) -> Result<Answer, ServiceError> {
        let owner = account(owner)?;
        let id = ReadStorageObjectId { collection, key, user_id: owner.to_string() };
        let found = self.operate::<ReadStorageObjects>(owner, ReadStorageObjectsRequest { object_ids: vec![id] });
        let trusted = found.await?.objects.into_iter().find(is_server_only);
        Ok(Answer::Value(trusted.map(|object| from_stored(object.value))))
    }

    /// Writes an object. The account may read objects that the game stores for it; only the game may change them.
    async fn write(
        &self,
        owner: &str,
        (collection, key): (String, String),
        value: &[u8],
    ) -> Result<Answer, ServiceError> {
        let object = WriteStorageObject {
            collection,
            key,
            value: to_stored(value),
            version: String::new(),
            permission_read: Some(Permission::Owner as i32),
            permission_write: Some(Permission::Nobody as i32),
        };
        let request = WriteStorageObjectsRequest { objects: vec![object] };
        self.operate::<WriteStorageObjects>(account(owner)?, request).await?;
        Ok(Answer::Done)
    }

    /// Reads a profile, or the active one instead of one that the account does not have. A guest has no account.
    async fn profile(&self, user: &str, wanted: Option<&str>) -> Result<Answer, ServiceError> {
        let list = match self.operate::<ListProfiles>(account(user)?, Default::default()).await {
            Err(error) if error.code == GrpcCode::NotFound => return Ok(Answer::Value(None)),
            list => list?,
        };
        let named = list.profiles.iter().find(|profile| Some(profile.id.as_str()) == wanted);
        let profile = named.or_else(|| list.profiles.iter().find(|profile| profile.active));
        Ok(Answer::Value(profile.and_then(|profile| serde_json::to_vec(profile).ok())))
    }

    async fn submit(&self, board: &str, user: &str, score: i64) -> Result<Answer, ServiceError> {
        let record = LeaderboardRecordWrite { score, ..LeaderboardRecordWrite::default() };
        let request = WriteLeaderboardRecordRequest { leaderboard_id: board.to_owned(), record: Some(record) };
        self.operate::<WriteLeaderboardRecord>(account(user)?, request).await?;
        Ok(Answer::Done)
    }

    /// Calls an operation for an account, with its hooks. In its own task, so that a hook that panics is answered too.
    async fn operate<O: Serve>(&self, account: Uuid, request: O::Request) -> Result<O::Answer, ServiceError> {
        let (services, context) = (Arc::clone(&self.services), Arc::new(CallContext::server_for(account)));
        let called = tokio::spawn(async move { services.call::<O>(&context, request).await });
        let abort = called.abort_handle();
        match timeout(CALL_TIME_MAX, called).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(ServiceError::with(GrpcCode::Internal, format!("A hook of {} panicked.", O::NAME))),
            Err(_) => {
                abort.abort();
                let seconds = CALL_TIME_MAX.as_secs();
                let message = format!("{} did not answer within {seconds} seconds; it may still be done.", O::NAME);
                Err(ServiceError::with(GrpcCode::DeadlineExceeded, message))
            }
        }
    }

    async fn call(&self, name: &str, payload: Vec<u8>) -> Answer {
        if !self.services.calls.has_function(name) {
            return Answer::Failed(format!("function `{name}` was not found; register it with Server::call"));
        }
        let (services, context, function) = (Arc::clone(&self.services), Arc::clone(&self.context), name.to_owned());
        // In its own task, so that a panic is answered too.
        let called = tokio::spawn(async move { services.call_bytes(&function, &context, payload).await });
        let abort = called.abort_handle();
        match timeout(CALL_TIME_MAX, called).await {
            Ok(Ok(Ok(value))) => Answer::Value(value),
            Ok(Ok(Err(error))) => Answer::Failed(error.to_string()),
            Ok(Err(_)) => Answer::Failed(format!("function `{name}` panicked")),
            Err(_) => {
                abort.abort();
                Answer::Failed(format!("function `{name}` did not answer within {} seconds", CALL_TIME_MAX.as_secs()))
            }
        }
    }

    /// Delivers an answer to the room. A full mailbox is retried; a room that has ended gets nothing.
    async fn deliver(&self, handle: &RoomHandle, id: RequestId, answer: Answer) {
        match &answer {
            Answer::Failed(_) => self.failed.inc(),
            Answer::Done | Answer::Value(_) => self.answered.inc(),
        }
        while handle.is_open() && handle.answer(id, answer.clone()).is_err() {
            sleep(MAILBOX_PAUSE).await;
        }
    }
}

/// Returns true if no client may write the object.
fn is_server_only(object: &StorageObject) -> bool {
    let is_of_server = Uuid::try_parse(&object.user_id).is_ok_and(|owner| owner.is_nil());
    object.permission_write == Permission::Nobody as i32
        || (object.permission_write == Permission::Owner as i32 && is_of_server)
}

/// Parses an account id; an empty text is the server's own account.
fn account(text: &str) -> Result<Uuid, ServiceError> {
    match text {
        "" => Ok(Uuid::nil()),
        id => Uuid::try_parse(id)
            .map_err(|_| ServiceError::invalid(format!("`{id}` is not an account id; use the id of the user."))),
    }
}

/// Encodes a value for storage. A JSON object stays one, so that other programs can read it.
fn to_stored(value: &[u8]) -> String {
    let object = std::str::from_utf8(value).ok().filter(|text| {
        let object = serde_json::from_str::<serde_json::Map<String, Value>>(text);
        object.is_ok_and(|object| !object.contains_key(BYTES_FIELD))
    });
    object.map_or_else(|| json!({ BYTES_FIELD: STANDARD.encode(value) }).to_string(), str::to_owned)
}

/// Decodes a stored value.
fn from_stored(text: String) -> Vec<u8> {
    let object: Option<serde_json::Map<String, Value>> = serde_json::from_str(&text).ok();
    let bytes = object.as_ref().and_then(|object| object.get(BYTES_FIELD)).and_then(Value::as_str);
    bytes.and_then(|bytes| STANDARD.decode(bytes).ok()).unwrap_or_else(|| text.into_bytes())
}

/// Adds the built-in functions for rooms, unless the program has functions of the same names.
pub fn register_functions(functions: &mut Functions) {
    // Fails only if the name is in use.
    let _ = functions.register_call("leaderboard_top", leaderboard_top);
    aether_services::matches::register_functions(functions);
}

/// Returns the top records of the leaderboard that the payload names: a line for each, with score, space and user name.
async fn leaderboard_top(services: Arc<Services>, payload: Vec<u8>) -> Result<Option<Vec<u8>>, ServiceError> {
    let not_a_name = |_| ServiceError::new(GrpcCode::InvalidArgument, "The payload must be the name of a leaderboard.");
    let board = String::from_utf8(payload).map_err(not_a_name)?;
    let query = RecordQuery { limit: Some(TOP_RECORDS), ..RecordQuery::default() };
    let list = services.leaderboards.records(&board, &[], &query).await?;
    let mut lines = String::new();
    for record in list.records {
        let name = record.username.replace(['\n', '\r'], " ");
        let _ = writeln!(lines, "{} {name}", record.score.score);
    }
    Ok(Some(lines.into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_restored_and_json_objects_stay_readable() {
        let object = br#"{"hue":7}"#.to_vec();
        assert_eq!(to_stored(&object).into_bytes(), object);
        let values = [object, vec![0, 255, 10], Vec::new(), b"[1]".to_vec(), br#"{"base64":"AA=="}"#.to_vec()];
        for value in values {
            assert_eq!(from_stored(to_stored(&value)), value);
        }
    }

    #[test]
    fn an_account_is_an_id_or_empty() {
        assert_eq!(account(""), Ok(Uuid::nil()));
        assert!(account("ann").is_err());
    }
}
