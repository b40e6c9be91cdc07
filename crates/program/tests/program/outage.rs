//! PostgreSQL goes away and comes back under load: clients are told with a sentence, `/readyz` says so, and all goes on by
//! itself.

use crate::support::program;
use aether_testkit_server::{ApiClient, DEADLINE, Process};
use aether_testkit_store::cluster;
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Clients that write, and as many that read and sign in.
const CLIENTS: usize = 4;
/// How long the database is away.
const AWAY: Duration = Duration::from_secs(3);
/// How long a client waits at most to be told that the database is away.
const TOLD_WITHIN: Duration = Duration::from_secs(12);

/// What clients saw.
#[derive(Default)]
struct Seen {
    served: AtomicU64,
    told: AtomicU64,
    over: AtomicBool,
}

impl Seen {
    /// Takes an answer: it is good, or it says that the database is away.
    fn take(&self, answer: &aether_testkit_server::Answer, took: Duration) -> bool {
        if answer.status == 200 {
            self.served.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        assert_eq!(answer.status, 503, "{}", answer.body);
        let refusal = answer.json();
        assert_eq!(refusal["code"], 14, "{refusal}");
        let sentence = refusal["message"].as_str().expect("there is a message");
        assert!(sentence.contains("database") && sentence.ends_with('.'), "{sentence}");
        assert!(took < TOLD_WITHIN, "it took {took:?} to be told");
        self.told.fetch_add(1, Ordering::Relaxed);
        false
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_stopped_and_started_is_missed_and_found_again() {
    goes_away(|cluster| cluster.stop().expect("it can be stopped")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_killed_and_started_is_missed_and_found_again() {
    goes_away(|cluster| cluster.kill().expect("it can be killed")).await;
}

async fn goes_away(leave: fn(&mut aether_testkit_postgres::Cluster)) {
    let Some(mut cluster) = cluster() else { return };
    cluster.start().expect("it can be started");
    let folder = Folder::new();
    let url = format!("database.url={}", cluster.url());
    let server = Process::serve(program(), &folder.0, &[&url, "log.filter=error"]).await;
    let seen = Arc::new(Seen::default());
    let writers: Vec<JoinHandle<(String, u64, u64)>> =
        (0..CLIENTS).map(|_| tokio::spawn(write(server.http, Arc::clone(&seen)))).collect();
    let readers: Vec<JoinHandle<()>> =
        (0..CLIENTS).map(|_| tokio::spawn(read(server.http, Arc::clone(&seen)))).collect();
    until("work is being done", || async { seen.served.load(Ordering::Relaxed) > 100 }).await;
    assert_eq!(status(server.http, "/readyz").await.0, 200);
    assert_eq!(seen.told.load(Ordering::Relaxed), 0);

    let mut cluster = blocking(move || {
        leave(&mut cluster);
        cluster
    })
    .await;
    until("readiness says so", || async { status(server.http, "/readyz").await.0 == 503 }).await;
    let (_, why) = status(server.http, "/readyz").await;
    assert!(why.contains("database"), "{why}");
    assert_eq!(status(server.http, "/livez").await.0, 200, "the server itself lives");
    until("clients are told", || async { seen.told.load(Ordering::Relaxed) > 10 }).await;
    tokio::time::sleep(AWAY).await;

    let cluster = blocking(move || {
        cluster.start().expect("it can be started");
        cluster
    })
    .await;
    let back = Instant::now();
    until("it is ready again", || async { status(server.http, "/readyz").await.0 == 200 }).await;
    let served = seen.served.load(Ordering::Relaxed);
    until("work is being done again", || async { seen.served.load(Ordering::Relaxed) > served + 100 }).await;
    println!("ready {:?} after the database; {} clients were told", back.elapsed(), seen.told.load(Ordering::Relaxed));
    seen.over.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.await.expect("readers are served or told");
    }
    for writer in writers {
        let (device, acknowledged, attempted) = writer.await.expect("writers are served or told");
        let score = score(server.http, &device).await;
        assert!((acknowledged..=attempted).contains(&score), "{score} is not within {acknowledged}..={attempted}");
    }
    server.kill().await;
    drop(cluster);
}

/// Adds one to a record again and again. Returns the device, and how often it was acknowledged and tried.
async fn write(server: SocketAddr, seen: Arc<Seen>) -> (String, u64, u64) {
    let device = format!("device-{}", uuid::Uuid::new_v4());
    let mut client = ApiClient::sign_in(server, &device).await.expect("the server runs");
    let (mut acknowledged, mut attempted) = (0, 0);
    while !seen.is_over() {
        attempted += 1;
        let began = Instant::now();
        let write = json!({ "score": "1", "operator": 3 });
        let answer = client.post("/v2/leaderboard/sandbox", &write).await.expect("the server answers");
        acknowledged += u64::from(seen.take(&answer, began.elapsed()));
        pause(&answer).await;
    }
    (device, acknowledged, attempted)
}

/// Signs in and reads again and again.
async fn read(server: SocketAddr, seen: Arc<Seen>) {
    let device = format!("device-{}", uuid::Uuid::new_v4());
    let mut client = ApiClient::sign_in(server, &device).await.expect("the server runs");
    let mut stranger = ApiClient::new(server);
    while !seen.is_over() {
        let began = Instant::now();
        let answer = client.get("/v2/account").await.expect("the server answers");
        seen.take(&answer, began.elapsed());
        let began = Instant::now();
        let body = json!({ "id": format!("device-{}", uuid::Uuid::new_v4()) });
        let answer = stranger.post("/v2/account/authenticate/device", &body).await.expect("the server answers");
        seen.take(&answer, began.elapsed());
        pause(&answer).await;
    }
}

/// Someone who was told to come back later does so.
async fn pause(answer: &aether_testkit_server::Answer) {
    if answer.status == 503 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn score(server: SocketAddr, device: &str) -> u64 {
    let mut client = ApiClient::sign_in(server, device).await.expect("the server runs");
    let path = format!("/v2/leaderboard/sandbox?owner_ids={}", client.user);
    let list = client.get(&path).await.expect("the server answers").json();
    list["owner_records"][0]["score"].as_str().map_or(0, |score| score.parse().expect("a score is a number"))
}

async fn status(server: SocketAddr, path: &str) -> (u16, String) {
    let answer = ApiClient::new(server).get(path).await.expect("the server answers");
    (answer.status, answer.body)
}

async fn until<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) {
    let end = Instant::now() + DEADLINE;
    while !holds().await {
        assert!(Instant::now() < end, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("it does not fail")
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        Folder(std::env::temp_dir().join(format!("aether-outage-{}", uuid::Uuid::new_v4().simple())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
        let _ = std::fs::remove_file(self.0.with_extension("log"));
    }
}
