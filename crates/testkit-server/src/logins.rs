//! Logins by e-mail, one or a thousand at once.

use crate::{ApiClient, HttpAnswer};
use serde_json::json;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use uuid::Uuid;

/// Number of logins in a storm.
const LOGINS: usize = 1_000;
/// Connections that are opened at a time, because the listener's queue is bounded.
const OPENING_AT_ONCE: usize = 100;

/// Returns a unique e-mail address.
#[must_use]
pub fn email() -> String {
    format!("{}@example.com", Uuid::new_v4())
}

/// Signs in with an address and a password.
///
/// # Panics
/// Panics if the server does not answer.
pub async fn log_in(client: &mut ApiClient, email: &str, password: &str, create: bool) -> HttpAnswer {
    let path = format!("/v2/account/authenticate/email?create={create}");
    client.post(&path, &json!({ "email": email, "password": password })).await.expect("the server answers")
}

/// Sends a thousand logins at once, each with an unknown address. Returns the number of answers by status.
///
/// # Panics
/// Panics if the server does not answer, or if the body of a 429 has another code than 8.
pub async fn storm(server: SocketAddr, password: &'static str) -> BTreeMap<u16, usize> {
    let opening = Arc::new(Semaphore::new(OPENING_AT_ONCE));
    let mut logins = JoinSet::new();
    for _ in 0..LOGINS {
        let opening = Arc::clone(&opening);
        logins.spawn(async move {
            let mut client = ApiClient::new(server);
            let open = opening.acquire().await.expect("the semaphore is never closed");
            assert_eq!(client.get("/healthcheck").await.expect("the server answers").status, 200);
            drop(open);
            log_in(&mut client, &email(), password, false).await
        });
    }
    let mut statuses = BTreeMap::new();
    for answer in logins.join_all().await {
        *statuses.entry(answer.status).or_default() += 1;
        if answer.status == 429 {
            assert_eq!(answer.json()["code"], 8, "{}", answer.body);
        }
    }
    statuses
}
