//! A server that is killed again and again, and clients that write down what it acknowledged.
//!
//! `DURABILITY_ROUNDS` says how often it is killed; `cargo xtask durability --rounds 20` sets it.

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

/// Something that a client does again and again, and writes down.
pub trait Work: Send + Sized + 'static {
    /// Works until the server answers no more.
    fn work(self, server: SocketAddr) -> impl Future<Output = Self> + Send;

    /// Number of acknowledged writes.
    fn acknowledged(&self) -> u64;
}

/// Data folder and database that a killed server is started with again.
pub struct ServerFolder {
    data_dir: PathBuf,
    database: String,
}

impl ServerFolder {
    /// In a folder of its own, over this database.
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

    /// Starts it.
    ///
    /// # Panics
    /// If it does not listen.
    pub async fn serve(&self, program: &Path) -> Process {
        Process::serve(program, &self.data_dir, &[&self.database, "log.filter=warn"]).await
    }
}

impl Drop for ServerFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.data_dir);
        let _ = std::fs::remove_file(self.data_dir.with_extension("log"));
    }
}

/// Number of kills.
///
/// # Panics
/// If `DURABILITY_ROUNDS` is no number.
#[must_use]
pub fn rounds() -> u32 {
    std::env::var("DURABILITY_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().expect("DURABILITY_ROUNDS is a number"))
}

/// Kills a server after a while that is another in each round.
///
/// # Panics
/// If it has ended before.
pub async fn kill_later(server: Process, round: u32) {
    let ms = 150 + u64::from(round) * 211 % 700;
    tokio::time::sleep(Duration::from_millis(ms)).await;
    server.kill().await;
}

/// The database once what the dead server asked of it has been done or undone: PostgreSQL finishes what it was sent.
///
/// # Panics
/// If the database does not answer.
pub async fn settled(database: &TestDatabase) -> Store {
    let store = database.open().await;
    let busy = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'";
    if !matches!(database.database, Database::Postgres(_)) {
        return store;
    }
    loop {
        let count = store.read(move |transaction| transaction.row(busy, &[], |row| row.get::<i64>(0)));
        let count: Result<Option<i64>, StoreError> = count.await;
        if count.expect("it can be asked") == Some(0) {
            return store;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Has something done with each, at the same time.
pub async fn all<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    things: Vec<T>,
    what: impl Fn(T) -> F,
) -> Vec<T> {
    let tasks: JoinSet<T> = things.into_iter().map(what).collect();
    tasks.join_all().await
}

/// Number of writes acknowledged to all of them.
#[must_use]
pub fn sum(workers: &[impl Work]) -> u64 {
    workers.iter().map(Work::acknowledged).sum()
}
