//! Outage of PostgreSQL under load: requests fail with a message, `/readyz` fails, and the server recovers by itself.

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
/// Duration of the outage.
const OUTAGE: Duration = Duration::from_secs(3);
/// Time limit of an error answer.
const ERROR_TIME_MAX: Duration = Duration::from_secs(12);

/// Answers that the clients got.
#[derive(Default)]
struct Answers {
    served: AtomicU64,
    unavailable: AtomicU64,
    over: AtomicBool,
}

impl Answers {
    /// Counts an answer. It must be a success, or an error that names the database. Returns true if it is a success.
    fn count(&self, answer: &aether_testkit_server::HttpAnswer, took: Duration) -> bool {
        if answer.status == 200 {
            self.served.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        assert_eq!(answer.status, 503, "{}", answer.body);
        let error = answer.json();
        assert_eq!(error["code"], 14, "{error}");
        let sentence = error["message"].as_str().expect("the answer has a message");
        assert!(sentence.contains("database") && sentence.ends_with('.'), "{sentence}");
        assert!(took < ERROR_TIME_MAX, "the error took {took:?}");
        self.unavailable.fetch_add(1, Ordering::Relaxed);
        false
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_recovers_when_the_database_is_stopped_and_started() {
    check_outage(|cluster| cluster.stop().expect("the cluster is stopped")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_recovers_when_the_database_is_killed_and_started() {
    check_outage(|cluster| cluster.kill().expect("the cluster is killed")).await;
}

async fn check_outage(end: fn(&mut aether_testkit_postgres::Cluster)) {
    let Some(mut cluster) = cluster() else { return };
    cluster.start().expect("the cluster is started");
    let folder = Folder::new();
    let url = format!("database.url={}", cluster.url());
    let server = Process::serve(program(), &folder.0, &[&url, "log.filter=error", "api.open_leaderboards=open"]).await;
    let answers = Arc::new(Answers::default());
    let writers: Vec<JoinHandle<(String, u64, u64)>> =
        (0..CLIENTS).map(|_| tokio::spawn(write(server.http, Arc::clone(&answers)))).collect();
    let readers: Vec<JoinHandle<()>> =
        (0..CLIENTS).map(|_| tokio::spawn(read(server.http, Arc::clone(&answers)))).collect();
    until("requests succeed", || async { answers.served.load(Ordering::Relaxed) > 100 }).await;
    assert_eq!(status(server.http, "/readyz").await.0, 200);
    assert_eq!(answers.unavailable.load(Ordering::Relaxed), 0);

    let mut cluster = blocking(move || {
        end(&mut cluster);
        cluster
    })
    .await;
    until("the server is not ready", || async { status(server.http, "/readyz").await.0 == 503 }).await;
    let (_, why) = status(server.http, "/readyz").await;
    assert!(why.contains("database"), "{why}");
    assert_eq!(status(server.http, "/livez").await.0, 200, "the server is live");
    until("requests fail", || async { answers.unavailable.load(Ordering::Relaxed) > 10 }).await;
    tokio::time::sleep(OUTAGE).await;

    let cluster = blocking(move || {
        cluster.start().expect("the cluster is started");
        cluster
    })
    .await;
    let restarted = Instant::now();
    until("the server is ready again", || async { status(server.http, "/readyz").await.0 == 200 }).await;
    let served = answers.served.load(Ordering::Relaxed);
    until("requests succeed again", || async { answers.served.load(Ordering::Relaxed) > served + 100 }).await;
    println!(
        "ready {:?} after the database; {} requests failed",
        restarted.elapsed(),
        answers.unavailable.load(Ordering::Relaxed)
    );
    answers.over.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.await.expect("readers do not panic");
    }
    for writer in writers {
        let (device, acknowledged, attempted) = writer.await.expect("writers do not panic");
        let score = score(server.http, &device).await;
        assert!((acknowledged..=attempted).contains(&score), "{score} is not within {acknowledged}..={attempted}");
    }
    server.kill().await;
    drop(cluster);
}

/// Increments a record repeatedly. Returns the device and the numbers of acknowledged and attempted writes.
async fn write(server: SocketAddr, answers: Arc<Answers>) -> (String, u64, u64) {
    let device = format!("device-{}", uuid::Uuid::new_v4());
    let mut client = ApiClient::sign_in(server, &device).await.expect("the server runs");
    let (mut acknowledged, mut attempted) = (0, 0);
    while !answers.is_over() {
        attempted += 1;
        let began = Instant::now();
        let write = json!({ "score": "1", "operator": 3 });
        let answer = client.post("/v2/leaderboard/open", &write).await.expect("the server answers");
        acknowledged += u64::from(answers.count(&answer, began.elapsed()));
        pause(&answer).await;
    }
    (device, acknowledged, attempted)
}

/// Signs in and reads repeatedly.
async fn read(server: SocketAddr, answers: Arc<Answers>) {
    let device = format!("device-{}", uuid::Uuid::new_v4());
    let mut client = ApiClient::sign_in(server, &device).await.expect("the server runs");
    let mut stranger = ApiClient::new(server);
    while !answers.is_over() {
        let began = Instant::now();
        let answer = client.get("/v2/account").await.expect("the server answers");
        answers.count(&answer, began.elapsed());
        let began = Instant::now();
        let body = json!({ "id": format!("device-{}", uuid::Uuid::new_v4()) });
        let answer = stranger.post("/v2/account/authenticate/device", &body).await.expect("the server answers");
        answers.count(&answer, began.elapsed());
        pause(&answer).await;
    }
}

/// Waits after an error answer.
async fn pause(answer: &aether_testkit_server::HttpAnswer) {
    if answer.status == 503 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn score(server: SocketAddr, device: &str) -> u64 {
    let mut client = ApiClient::sign_in(server, device).await.expect("the server runs");
    let path = format!("/v2/leaderboard/open?owner_ids={}", client.user);
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
        assert!(Instant::now() < end, "timeout while waiting until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("the task does not panic")
}

/// A folder that is removed at the end of the test.
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
