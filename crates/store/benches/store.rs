//! Cost of an operation with 50 concurrent callers, on both databases, with every commit on disk.

use aether_metrics::Registry;
use aether_store::{Store, StoreError, StoreSettings, Transaction, back_up, restore, values};
use aether_testkit_postgres::{Cluster, is_installed};
use aether_testkit_store::{TestDatabase, file, postgres_at};
use futures_util::future::join_all;
use std::cell::Cell;
use std::io::Cursor;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// The number of connections in the benchmark of the whole server.
const CALLERS: u64 = 50;
/// A third of the aim for a request of the whole server.
const AIMS_US: [(&str, f64); 2] = [("file", 20.0), ("postgres", 120.0)];
const WRITE_AFTER_READ: &str =
    "SELECT version FROM storage_objects WHERE collection = 'bench' AND user_id = ?1 AND key = 'k'";
const UPSERT: &str = "INSERT INTO storage_objects (collection, key, user_id, value, version, permission_read,
    permission_write, created_at, updated_at) VALUES ('bench', 'k', ?1, ?2, ?3, 1, 1, 1, 1)
    ON CONFLICT (collection, user_id, key) DO UPDATE SET value = excluded.value, version = excluded.version";

#[tokio::main]
async fn main() {
    let short = std::env::args().any(|argument| argument == "--short");
    let time = Duration::from_millis(if short { 200 } else { 5_000 });
    let rows = if short { 2_000 } else { 100_000 };
    println!("{CALLERS} concurrent callers; each reads a row and writes it, and continues when that is on disk.");
    let mut results = Vec::new();
    results.push(("file", measure(&file(), time, rows).await));
    if is_installed() {
        let folder = std::env::temp_dir().join(format!("aether-bench-{}", Uuid::new_v4().simple()));
        let mut cluster = Cluster::create(&folder).expect("the cluster is created");
        cluster.start().expect("the cluster starts");
        results.push(("postgres", measure(&postgres_at(&cluster.url()), time, rows).await));
    } else {
        println!("PostgreSQL is not installed and not measured.");
    }
    for (name, write_us) in results.into_iter().rev() {
        let aim = AIMS_US.iter().find(|(aimed, _)| *aimed == name).map_or(0.0, |(_, aim)| *aim);
        let verdict = if write_us <= aim { "met" } else { "missed" };
        let line = if name == "file" { "store".to_owned() } else { format!("store-{name}") };
        println!("{line}: {write_us:.1} µs a write, aim {aim} µs or less: {verdict}");
    }
}

/// Measures one database. Returns the microseconds per write.
async fn measure(database: &TestDatabase, time: Duration, rows: u128) -> f64 {
    let registry = Registry::new();
    let store =
        Store::open(&StoreSettings::new(database.database.clone()), &registry).await.expect("the database opens");
    let write = each(&store, time, async |store, caller| store.write(move |it| change(it, caller)).await).await;
    let commit = mean(&registry, "aether_database_commit_duration_seconds") * 1e6;
    let shared = mean(&registry, "aether_database_commit_operations");
    let one = each(&store, time, async |store, _| store.write_in_order(1, |it| change(it, 1)).await).await;
    let read = each(&store, time, async |store, caller| {
        let id = Uuid::from_u128(u128::from(caller));
        let read = store.read(move |it| it.row(WRITE_AFTER_READ, values![id], |row| row.get::<String>(0)));
        read.await.map(|_| ())
    });
    let read = read.await;
    let (back_up, restore) = copy(&store, rows).await;
    println!("{}: {write:.1} µs a write; a commit takes {commit:.0} µs and {shared:.1} writes share it", database.name);
    println!("    {one:.1} µs a write where all take turns on one row; {read:.1} µs a read");
    println!("    {back_up:.1} µs a row to back up, {restore:.1} µs to restore");
    write
}

/// Returns the mean of a histogram, or 1 if it is empty: PostgreSQL groups commits itself.
fn mean(registry: &Registry, name: &str) -> f64 {
    let text = registry.render();
    let value = |part: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(part)?.trim().parse().ok());
        found.unwrap_or(0.0)
    };
    if value("_count") > 0.0 { value("_sum") / value("_count") } else { 1.0 }
}

fn change(transaction: &mut Transaction<'_>, caller: u64) -> Result<(), StoreError> {
    let id = Uuid::from_u128(u128::from(caller));
    let select = format!("{WRITE_AFTER_READ}{}", transaction.for_update());
    let version = transaction.row(&select, values![id], |row| row.get::<String>(0))?.unwrap_or_default();
    let next = (version.parse::<u64>().unwrap_or_default() + 1).to_string();
    transaction.execute(UPSERT, values![id, r#"{"level":7,"name":"someone"}"#, &next]).map(|_| ())
}

/// Repeats an operation on all callers. Returns the elapsed microseconds per operation.
async fn each(store: &Store, time: Duration, operation: impl AsyncFn(&Store, u64) -> Result<(), StoreError>) -> f64 {
    let done = Cell::new(0_u64);
    let began = Instant::now();
    let caller = async |caller| {
        while began.elapsed() < time {
            operation(store, caller).await.expect("the operation succeeds");
            done.set(done.get() + 1);
        }
    };
    join_all((0..CALLERS).map(caller)).await;
    began.elapsed().as_secs_f64() * 1e6 / done.get() as f64
}

/// Backs up and restores rows. Returns the microseconds per row of each.
async fn copy(store: &Store, rows: u128) -> (f64, f64) {
    for first in (0..rows).step_by(10_000) {
        let fill = store.write(move |transaction| {
            for number in first..rows.min(first + 10_000) {
                let id = Uuid::from_u128(1_000_000 + number);
                transaction.execute(UPSERT, values![id, r#"{"level":7,"name":"someone"}"#, "1"])?;
            }
            Ok::<_, StoreError>(())
        });
        fill.await.expect("rows can be written");
    }
    let began = Instant::now();
    let (bytes, summary) = back_up(store, Vec::new(), |_| {}).await.expect("the backup succeeds");
    let back_up = began.elapsed().as_secs_f64() * 1e6 / summary.rows as f64;
    let began = Instant::now();
    restore(store, Cursor::new(bytes), true, |_| {}).await.expect("the restore succeeds");
    (back_up, began.elapsed().as_secs_f64() * 1e6 / summary.rows as f64)
}
