//! A server that is killed repeatedly, and clients that record what it acknowledged.
//!
//! `DURABILITY_ROUNDS` is the number of kills; `cargo xtask durability --rounds 20` sets it.

use crate::Process;
use aether_store::{Database, Store, StoreError};
use aether_testkit_store::TestDatabase;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::task::JoinSet;

/// Default number of kills.
const ROUNDS: u32 = 3;
/// Clients of each kind.
pub const CLIENTS: usize = 4;

/// Work that a client repeats and records.
pub trait Work: Send + Sized + 'static {
    /// Works until the server stops answering.
    fn work(self, server: SocketAddr) -> impl Future<Output = Self> + Send;

    /// Number of acknowledged writes.
    fn acknowledged(&self) -> u64;
}

/// Data folder and database of a server that is killed and restarted.
pub struct ServerFolder {
    data_dir: PathBuf,
    database: String,
}

impl ServerFolder {
    /// Creates a new data folder for a database.
    #[must_use]
    pub fn new(database: &TestDatabase) -> ServerFolder {
        let data_dir = std::env::temp_dir().join(format!("aether-durability-{}", uuid::Uuid::new_v4().simple()));
        let url = match &database.database {
            Database::Memory => "memory".to_owned(),
            Database::File(path) => format!("sqlite:{}", path.display()),
            Database::Postgres(url) => url.clone(),
        };
        ServerFolder { data_dir, database: format!("database.url={url}") }
    }

    /// Starts the server.
    ///
    /// # Panics
    /// Panics if it does not listen.
    pub async fn serve(&self, program: &Path) -> Process {
        Process::serve(program, &self.data_dir, &[&self.database, "log.filter=warn", "api.open_leaderboards=open"])
            .await
    }
}

impl Drop for ServerFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.data_dir);
        let _ = std::fs::remove_file(self.data_dir.with_extension("log"));
    }
}

/// Returns the number of kills.
///
/// # Panics
/// Panics if `DURABILITY_ROUNDS` is not a number.
#[must_use]
pub fn rounds() -> u32 {
    std::env::var("DURABILITY_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().expect("DURABILITY_ROUNDS is a number"))
}

/// Kills a server after a time that differs in each round.
///
/// # Panics
/// Panics if it has ended before.
pub async fn kill_later(server: Process, round: u32) {
    let ms = 150 + u64::from(round) * 211 % 700;
    tokio::time::sleep(Duration::from_millis(ms)).await;
    server.kill().await;
}

/// Opens the database and waits until the statements of the killed server have ended, because PostgreSQL finishes what it
/// has received.
///
/// # Panics
/// Panics if the database does not answer.
pub async fn open_settled(database: &TestDatabase) -> Store {
    let store = database.open().await;
    let busy = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'";
    if !matches!(database.database, Database::Postgres(_)) {
        return store;
    }
    loop {
        let count = store.read(move |transaction| transaction.row(busy, &[], |row| row.get::<i64>(0)));
        let count: Result<Option<i64>, StoreError> = count.await;
        if count.expect("the database answers") == Some(0) {
            return store;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Runs a future for each item concurrently.
pub async fn run_all<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    items: Vec<T>,
    run: impl Fn(T) -> F,
) -> Vec<T> {
    let tasks: JoinSet<T> = items.into_iter().map(run).collect();
    tasks.join_all().await
}

/// Returns the number of writes acknowledged to all workers.
#[must_use]
pub fn total_acknowledged(workers: &[impl Work]) -> u64 {
    workers.iter().map(Work::acknowledged).sum()
}
