//! Tests on SQLite in memory, SQLite in a file, and PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a test panics on unexpected results")]

mod backup;
mod commits;
mod fairness;
mod lanes;
mod limits;
mod lost;
mod migrations;
mod order;
mod outage;
mod outbox;
mod tls;
mod types;

use aether_store::{Store, StoreError, values};
use aether_testkit_store::databases;
use std::time::Duration;

/// Numbers of all migrations.
const ALL: &[i64] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];

/// Time limit of everything that a test waits for.
const DEADLINE: Duration = Duration::from_secs(30);

/// Runs a test on a new database of each kind, with a table of counters.
async fn on_each(test: impl AsyncFn(&str, Store)) {
    for database in databases() {
        let store = database.open().await;
        make_counters(&store).await;
        test(database.name, store).await;
    }
}

async fn make_counters(store: &Store) {
    let make = "CREATE TABLE counters (id BIGINT NOT NULL PRIMARY KEY, value BIGINT NOT NULL)";
    store.write(move |transaction| transaction.execute(make, &[])).await.unwrap();
}

/// Inserts a new counter.
async fn insert(store: &Store, id: i64, value: i64) -> Result<u64, StoreError> {
    let insert = "INSERT INTO counters (id, value) VALUES (?1, ?2)";
    store.write(move |transaction| transaction.execute(insert, values![id, value])).await
}

async fn counter(store: &Store, id: i64) -> Option<i64> {
    let select = "SELECT value FROM counters WHERE id = ?1";
    let counter = store.read(move |transaction| transaction.row(select, values![id], |row| row.get::<i64>(0))).await;
    counter.unwrap()
}

async fn count(store: &Store) -> i64 {
    let count = store.read(|transaction| transaction.row("SELECT count(*) FROM counters", &[], |row| row.get(0))).await;
    count.unwrap().unwrap()
}
