//! Requests of rooms to the services, served outside of the tick.

use aether_engine::{Answer, Request, RoomHandle};
use aether_metrics::{Counter, Registry};
use aether_services::calls::Functions;
use aether_services::leaderboard::{RecordQuery, RecordWrite, Score};
use aether_services::storage::{ObjectId, Permission, Write};
use aether_services::{CallContext, Caller, GrpcCode, ServiceError, Services};
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

/// Calls of one room that run at the same time; further ones wait.
const CALLS_AT_ONCE: usize = 16;
/// Longest time of a call. A room does not wait, but its game may, and has a limited number of requests.
const CALL_TIME_MAX: Duration = Duration::from_secs(30);
/// Pause before an answer is offered to a full mailbox again.
const MAILBOX_PAUSE: Duration = Duration::from_millis(20);
/// Records that `leaderboard_top` lists.
const TOP_RECORDS: i64 = 10;
/// The field of an object in storage that holds what is no JSON.
const BYTES_FIELD: &str = "base64";

/// Serves the requests of rooms.
pub struct RoomRequests {
    services: Arc<Services>,
    /// Circumstances of calls that rooms make.
    context: Arc<CallContext>,
    answered: Counter,
    failed: Counter,
}

impl RoomRequests {
    /// Serves requests with these services and the functions of their table of calls.
    #[must_use]
    pub fn new(services: Arc<Services>, registry: &Registry) -> RoomRequests {
        let counter = |outcome| {
            let help = "Requests of rooms to the services, by outcome.";
            registry.counter("aether_room_requests_total", help, &[("outcome", outcome)])
        };
        RoomRequests {
            services,
            context: Arc::new(CallContext::server()),
            answered: counter("done"),
            failed: counter("failed"),
        }
    }

    pub(crate) fn services(&self) -> &Arc<Services> {
        &self.services
    }

    /// Answers the requests of one room until its queue ends. Those to the store keep their order; calls, which may take
    /// long, run concurrently.
    pub(crate) async fn serve(self: Arc<Self>, handle: RoomHandle, mut queue: UnboundedReceiver<(RequestId, Request)>) {
        let mut calls: JoinSet<()> = JoinSet::new();
        while let Some((id, request)) = queue.recv().await {
            let Request::Call { name, payload } = request else {
                let answer = self.ask(request).await;
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

    async fn ask(&self, request: Request) -> Answer {
        let outcome = match request {
            Request::Read { owner, collection, key } => self.read(&owner, collection, key).await,
            Request::Write { owner, collection, key, value } => self.write(&owner, (collection, key), &value).await,
            Request::SubmitScore { board, user, score } => self.submit(&board, &user, score).await,
            Request::Call { name, payload } => return self.call(&name, payload).await,
        };
        outcome.unwrap_or_else(|refusal| Answer::Failed(refusal.to_string()))
    }

    async fn read(&self, owner: &str, collection: String, key: String) -> Result<Answer, ServiceError> {
        let id = ObjectId::new(collection, key, account(owner)?);
        let found = self.services.storage.read(&Caller::Server, vec![id]).await?;
        Ok(Answer::Value(found.into_iter().next().map(|object| unwrapped(object.value))))
    }

    /// What a game keeps of an account is for the game to change, and for the account to see.
    async fn write(
        &self,
        owner: &str,
        (collection, key): (String, String),
        value: &[u8],
    ) -> Result<Answer, ServiceError> {
        let id = ObjectId::new(collection, key, account(owner)?);
        let write = Write::new(id, wrapped(value)).permit(Permission::Owner, Permission::Nobody);
        self.services.storage.write(&Caller::Server, vec![write]).await?;
        Ok(Answer::Done)
    }

    async fn submit(&self, board: &str, user: &str, score: i64) -> Result<Answer, ServiceError> {
        let owner = account(user)?;
        let username = self.services.accounts.account(owner).await?.user.username;
        let score = Score { score, subscore: 0 };
        let write = RecordWrite { owner, username, score, operator: None, metadata: None };
        self.services.leaderboards.write(&Caller::Server, board, write).await?;
        Ok(Answer::Done)
    }

    async fn call(&self, name: &str, payload: Vec<u8>) -> Answer {
        if !self.services.calls.has_function(name) {
            return Answer::Failed(format!("there is no call {name}: register it with Server::call"));
        }
        let (services, context, function) = (Arc::clone(&self.services), Arc::clone(&self.context), name.to_owned());
        // In a task of its own, so that one that panics is answered too.
        let called = tokio::spawn(async move { services.call_bytes(&function, &context, payload).await });
        let abort = called.abort_handle();
        match timeout(CALL_TIME_MAX, called).await {
            Ok(Ok(Ok(value))) => Answer::Value(value),
            Ok(Ok(Err(refusal))) => Answer::Failed(refusal.to_string()),
            Ok(Err(_)) => Answer::Failed(format!("the call {name} has failed; it was a fault of the server")),
            Err(_) => {
                abort.abort();
                Answer::Failed(format!("the call {name} took too long"))
            }
        }
    }

    /// Hands an answer to the room. One that does not keep up hears of it later; one that has ended, never.
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

/// The account that a room means; that of the server for an empty text.
fn account(text: &str) -> Result<Uuid, ServiceError> {
    match text {
        "" => Ok(Uuid::nil()),
        id => Uuid::try_parse(id).map_err(|_| ServiceError::invalid("An account is named by its id.")),
    }
}

/// A value as storage keeps it. A JSON object stays one, so that other programs can read it.
fn wrapped(value: &[u8]) -> String {
    let as_it_is = std::str::from_utf8(value).ok().filter(|text| {
        let object = serde_json::from_str::<serde_json::Map<String, Value>>(text);
        object.is_ok_and(|object| !object.contains_key(BYTES_FIELD))
    });
    as_it_is.map_or_else(|| json!({ BYTES_FIELD: STANDARD.encode(value) }).to_string(), str::to_owned)
}

/// A value as the room had it.
fn unwrapped(text: String) -> Vec<u8> {
    let object: Option<serde_json::Map<String, Value>> = serde_json::from_str(&text).ok();
    let bytes = object.as_ref().and_then(|object| object.get(BYTES_FIELD)).and_then(Value::as_str);
    bytes.and_then(|bytes| STANDARD.decode(bytes).ok()).unwrap_or_else(|| text.into_bytes())
}

/// Adds the functions that every server offers to its rooms, except where the program has one of the same name.
pub fn register_functions(functions: &mut Functions) {
    // Refused only if the name is taken.
    let _ = functions.register_call("leaderboard_top", leaderboard_top);
    aether_services::matches::register_functions(functions);
}

/// The best of a leaderboard, whose name is the payload: a line for each with the score, a space and the name.
async fn leaderboard_top(services: Arc<Services>, payload: Vec<u8>) -> Result<Option<Vec<u8>>, ServiceError> {
    let not_a_name = |_| ServiceError::new(GrpcCode::InvalidArgument, "The payload is the name of a leaderboard.");
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
    fn bytes_come_back_as_they_were_and_json_stays_readable() {
        let object = br#"{"hue":7}"#.to_vec();
        assert_eq!(wrapped(&object).into_bytes(), object);
        let values = [object, vec![0, 255, 10], Vec::new(), b"[1]".to_vec(), br#"{"base64":"AA=="}"#.to_vec()];
        for value in values {
            assert_eq!(unwrapped(wrapped(&value)), value);
        }
    }

    #[test]
    fn an_account_is_an_id_or_nobody() {
        assert_eq!(account(""), Ok(Uuid::nil()));
        assert!(account("ann").is_err());
    }
}
