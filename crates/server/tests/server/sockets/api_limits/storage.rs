//! Objects of other users, and concurrent conditional writes.

use super::servers;
use aether_server::services::Caller;
use aether_server::services::storage::{BATCH_MAX, ObjectId, Write};
use aether_testkit_server::{ApiClient, DEADLINE, TestServer};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;

const RACERS: usize = 100;

fn object(value: &Value, version: &str) -> Value {
    json!({ "objects": [{ "collection": "race", "key": "k", "value": value.to_string(), "version": version }] })
}

/// Writes with a hundred clients of one user on the same condition. Returns the values of the acknowledged writes.
async fn race(server: SocketAddr, token: &str, version: &str) -> Vec<u64> {
    let mut racers = JoinSet::new();
    for number in 0..RACERS as u64 {
        let mut client = ApiClient::new(server);
        client.authorize(format!("Bearer {token}"));
        let body = object(&json!({ "winner": number }), version);
        racers.spawn(async move {
            assert_eq!(client.get("/v2/account").await.expect("the server answers").status, 200);
            let answer = client.put("/v2/storage", &body).await.expect("the server answers");
            if answer.status != 200 {
                assert_eq!(answer.status, 400, "{}", answer.body);
                let sentence = "Storage write rejected - version check failed.";
                assert_eq!(answer.json(), json!({ "code": 3, "message": sentence }));
            }
            (answer.status == 200).then_some(number)
        });
    }
    racers.join_all().await.into_iter().flatten().collect()
}

async fn read(client: &mut ApiClient) -> (u64, String) {
    let ids = json!({ "object_ids": [{ "collection": "race", "key": "k", "user_id": client.user }] });
    let answer = client.post("/v2/storage", &ids).await.expect("the server answers").json();
    let object = &answer["objects"][0];
    let value: Value = serde_json::from_str(object["value"].as_str().expect("a value")).expect("the text is JSON");
    (value["winner"].as_u64().expect("a number"), object["version"].as_str().expect("a version").to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_hundred_conditional_writes_one_wins() {
    for (server, database) in servers(|_| {}).await {
        let mut client = ApiClient::new_user(server.http).await;
        let token = client.token.clone();
        let winners = race(server.http, &token, "*").await;
        assert_eq!(winners.len(), 1, "{}: {winners:?}", database.name);
        let (winner, version) = read(&mut client).await;
        assert_eq!(winner, winners[0], "{}", database.name);
        let winners = race(server.http, &token, &version).await;
        // Writing the same value does not change the version.
        let changed: Vec<u64> = winners.into_iter().filter(|other| *other != winner).collect();
        assert_eq!(changed.len(), 1, "{}: {changed:?}", database.name);
        assert_eq!(read(&mut client).await.0, changed[0], "{}", database.name);
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_another_user_are_neither_read_nor_changed() {
    for (server, database) in servers(|_| {}).await {
        let mut ann = ApiClient::new_user(server.http).await;
        let mut bob = ApiClient::new_user(server.http).await;
        let written = ann.put("/v2/storage", &object(&json!({ "winner": 1 }), "*")).await.expect("the server answers");
        assert_eq!(written.status, 200, "{}", written.body);
        let id = json!({ "collection": "race", "key": "k", "user_id": ann.user });
        let read_by_bob = bob.post("/v2/storage", &json!({ "object_ids": [id] })).await.expect("the server answers");
        assert_eq!((read_by_bob.status, read_by_bob.json()), (200, json!({})), "as if it did not exist");
        for path in
            [format!("/v2/storage/race?user_id={}&limit=10", ann.user), format!("/v2/storage/race/{}", ann.user)]
        {
            let listed = bob.get(&path).await.expect("the server answers");
            assert_eq!((listed.status, listed.json()), (200, json!({})), "{path}");
        }
        // A client cannot name an owner in a write or a removal: it always means its own objects.
        let removed = bob.put("/v2/storage/delete", &json!({ "object_ids": [id] })).await.expect("the server answers");
        assert_eq!(removed.status, 200, "there was nothing of its own to remove");
        assert_eq!(read(&mut ann).await.0, 1, "{}", database.name);
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_without_write_permission_rejects_its_owner_too() {
    let server = TestServer::start(|_| {}).await;
    let mut client = ApiClient::new_user(server.http).await;
    let locked = json!({ "objects": [{
        "collection": "race", "key": "k", "value": "{\"winner\":1}", "permission_read": 0, "permission_write": 0,
    }] });
    assert_eq!(client.put("/v2/storage", &locked).await.expect("the server answers").status, 200);
    for version in ["", "an old one"] {
        let answer = client.put("/v2/storage", &object(&json!({ "winner": 2 }), version)).await;
        let answer = answer.expect("the server answers");
        assert_eq!((answer.status, answer.json()["code"].as_u64()), (403, Some(7)), "{}", answer.body);
    }
    let id = json!({ "object_ids": [{ "collection": "race", "key": "k", "user_id": client.user }] });
    let removed = client.put("/v2/storage/delete", &id).await.expect("the server answers");
    assert_eq!(removed.status, 403, "{}", removed.body);
    assert_eq!(client.post("/v2/storage", &id).await.expect("the server answers").json(), json!({}), "nor read");
    server.stop().await;
}

/// Objects of each account that floods the server.
const STORED: usize = 10_000;
/// Accounts that flood the server, and requests of each that wait for an answer at any time.
const FLOODING: usize = 4;
const CONCURRENT: usize = 32;

async fn fill(server: &TestServer, user: &str) {
    let owner = user.parse().expect("an id");
    for batch in (0..STORED).collect::<Vec<_>>().chunks(BATCH_MAX) {
        let writes = batch.iter().map(|number| Write::new(ObjectId::new("old", number.to_string(), owner), "{}"));
        server.services().storage.write(&Caller::Server, writes.collect()).await.expect("it is stored");
    }
}

/// Most requests of the flood that are served while one write of another account waits: those in line when it arrives, and
/// as many that follow in the same commit. The store's own tests show that accounts take turns, and those of the storage
/// that a write costs the same whatever its user has stored.
const SERVED_BEFORE_MAX: usize = 2 * FLOODING * CONCURRENT;

#[tokio::test(flavor = "multi_thread")]
async fn accounts_with_much_stored_do_not_delay_the_writes_of_another() {
    let server = TestServer::start(|config| config.storage.objects_per_user_max = Some(1_000_000)).await;
    // Counted in requests instead of seconds: a busy machine delays the flood as much as the write.
    let served = served_before_a_write(&server).await;
    assert!(
        served <= SERVED_BEFORE_MAX,
        "{served} requests of the flood were served before a write of another account"
    );
    server.stop().await;
}

/// Returns how many requests of a flood are served while a write of another account waits, as the median of several.
async fn served_before_a_write(server: &TestServer) -> usize {
    let (is_over, flooded) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut flood = JoinSet::new();
    for _ in 0..FLOODING {
        let account = ApiClient::new_user(server.http).await;
        fill(server, &account.user).await;
        for number in 0..CONCURRENT {
            let mut client = ApiClient::new(server.http);
            client.authorize(format!("Bearer {}", account.token));
            let (is_over, flooded) = (Arc::clone(&is_over), Arc::clone(&flooded));
            flood.spawn(async move {
                let objects: Vec<Value> = (0..20)
                    .map(|key| json!({ "collection": "new", "key": format!("{number}-{key}"), "value": "{}" }))
                    .collect();
                while !is_over.load(Ordering::Relaxed) {
                    let answer = client.put("/v2/storage", &json!({ "objects": objects })).await;
                    assert_eq!(answer.expect("the server answers").status, 200);
                    flooded.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    }
    let mut other = ApiClient::new_user(server.http).await;
    let until_flooded = async {
        while flooded.load(Ordering::Relaxed) < FLOODING * CONCURRENT {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(DEADLINE, until_flooded).await.expect("the flood is served too");
    let mut served = Vec::new();
    for number in 0..21 {
        let before = flooded.load(Ordering::Relaxed);
        let answer = other.put("/v2/storage", &object(&json!({ "winner": number }), "")).await;
        assert_eq!(answer.expect("the server answers").status, 200);
        served.push(flooded.load(Ordering::Relaxed) - before);
    }
    is_over.store(true, Ordering::Relaxed);
    flood.join_all().await;
    served.sort_unstable();
    served[served.len() / 2]
}
