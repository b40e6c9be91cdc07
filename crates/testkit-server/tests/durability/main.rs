//! What was acknowledged survives `kill -9` at any moment, and nothing is done twice: the real program under load is
//! killed and started again, and what it then knows is compared with what its clients wrote down.
//!
//! `DURABILITY_ROUNDS` says how often; `cargo xtask durability --rounds 20` sets it.

mod accounts;
mod leaderboards;
mod storage;
mod wallets;

use accounts::Newcomers;
use aether_server::services::clock::SystemClock;
use aether_server::services::wallet::Wallets;
use aether_store::{Database, Store, StoreError};
use aether_testkit_server::{Process, program};
use aether_testkit_store::{TestDatabase, file, postgres};
use leaderboards::Scorer;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use storage::Writer;
use tokio::task::JoinSet;
use wallets::Payer;

/// How often the server is killed if nothing else is said.
const ROUNDS: u32 = 3;
/// Clients of each kind.
const CLIENTS: usize = 4;

/// Something that a client does again and again, and writes down.
trait Work: Send + Sized + 'static {
    /// Works until the server answers no more.
    fn work(self, server: SocketAddr) -> impl Future<Output = Self> + Send;

    /// How many things were acknowledged.
    fn acknowledged(&self) -> u64;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_what_was_acknowledged_survives_a_kill() {
    nothing_is_lost_or_doubled(file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_what_was_acknowledged_survives_a_kill() {
    if let Some(database) = postgres() {
        nothing_is_lost_or_doubled(database).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_wallets_conserve_what_is_in_them() {
    wallets_conserve(file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_wallets_conserve_what_is_in_them() {
    if let Some(database) = postgres() {
        wallets_conserve(database).await;
    }
}

async fn nothing_is_lost_or_doubled(database: TestDatabase) {
    let place = Place::new(&database);
    let mut writers: Vec<Writer> = (0..CLIENTS).map(|_| Writer::default()).collect();
    // All of them add to one record, beside one of each.
    let shared = Scorer::shared();
    let mut scorers: Vec<Scorer> = (0..CLIENTS).flat_map(|_| [Scorer::alone(), shared.clone()]).collect();
    let mut newcomers: Vec<Newcomers> = (0..CLIENTS).map(|_| Newcomers::default()).collect();
    for round in 0..rounds() {
        let server = place.serve(program()).await;
        writers = all(writers, |writer| writer.compare(server.http)).await;
        scorers = all(scorers, |scorer| scorer.compare(server.http)).await;
        newcomers = all(newcomers, |newcomers| newcomers.compare(server.http)).await;
        let address = server.http;
        let working = tokio::spawn(async move {
            tokio::join!(
                all(writers, move |writer| writer.work(address)),
                all(scorers, move |scorer| scorer.work(address)),
                all(newcomers, move |newcomers| newcomers.work(address)),
            )
        });
        kill_later(server, round).await;
        (writers, scorers, newcomers) = working.await.expect("clients do not fail");
        settled(&database).await.close().await;
    }
    let server = place.serve(program()).await;
    let writers = all(writers, |writer| writer.compare(server.http)).await;
    let scorers = all(scorers, |scorer| scorer.compare(server.http)).await;
    let newcomers = all(newcomers, |newcomers| newcomers.compare_all(server.http)).await;
    server.kill().await;
    println!(
        "{}, {} kills: {} writes of objects, {} scores and {} new accounts were acknowledged; none is missing or doubled",
        database.name,
        rounds(),
        sum(&writers),
        sum(&scorers),
        sum(&newcomers)
    );
}

async fn wallets_conserve(database: TestDatabase) {
    let place = Place::new(&database);
    let bank = Path::new(env!("CARGO_BIN_EXE_bank"));
    let server = place.serve(bank).await;
    let mut payers = wallets::open(server.http, CLIENTS * 2).await;
    server.kill().await;
    for round in 0..rounds() {
        let server = place.serve(bank).await;
        let address = server.http;
        let working = tokio::spawn(all(payers, move |payer: Payer| payer.work(address)));
        kill_later(server, round).await;
        payers = working.await.expect("clients do not fail");
        let store = settled(&database).await;
        wallets::compare(&Wallets::new(store.clone(), Arc::new(SystemClock)), &payers).await;
        store.close().await;
    }
    println!(
        "{}, {} kills: {} transfers were acknowledged; the wallets and their ledgers hold what they should",
        database.name,
        rounds(),
        sum(&payers)
    );
}

/// Where a server that is killed comes back.
struct Place {
    data_dir: PathBuf,
    database: String,
}

impl Place {
    fn new(database: &TestDatabase) -> Place {
        let data_dir = std::env::temp_dir().join(format!("aether-durability-{}", uuid::Uuid::new_v4().simple()));
        let url = match &database.database {
            Database::Memory => "memory".to_owned(),
            Database::File(path) => format!("sqlite:{}", path.display()),
            Database::Postgres(url) => url.clone(),
        };
        Place { data_dir, database: format!("database.url={url}") }
    }

    async fn serve(&self, program: &Path) -> Process {
        Process::serve(program, &self.data_dir, &[&self.database, "log.filter=warn"]).await
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.data_dir);
        let _ = std::fs::remove_file(self.data_dir.with_extension("log"));
    }
}

fn rounds() -> u32 {
    std::env::var("DURABILITY_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().expect("DURABILITY_ROUNDS is a number"))
}

/// Kills a server after a while that is another in each round.
async fn kill_later(server: Process, round: u32) {
    let ms = 150 + u64::from(round) * 211 % 700;
    tokio::time::sleep(Duration::from_millis(ms)).await;
    server.kill().await;
}

/// The database once what the dead server asked of it has been done or undone: PostgreSQL finishes what it was sent.
async fn settled(database: &TestDatabase) -> Store {
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
async fn all<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    things: Vec<T>,
    what: impl Fn(T) -> F,
) -> Vec<T> {
    let tasks: JoinSet<T> = things.into_iter().map(what).collect();
    tasks.join_all().await
}

fn sum(workers: &[impl Work]) -> u64 {
    workers.iter().map(Work::acknowledged).sum()
}
