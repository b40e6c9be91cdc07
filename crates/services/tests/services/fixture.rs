//! Stores with users, and a manual clock.

use aether_services::clock::ManualClock;
use aether_services::{GrpcCode, ServiceError};
use aether_store::{Store, values};
use aether_testkit_store::{TestDatabase, databases};
use std::sync::Arc;
use uuid::Uuid;

/// Start time of tests.
pub const START_MS: i64 = 1_700_000_000_000;

/// Store with the tested services.
pub struct Fixture {
    pub name: &'static str,
    pub store: Store,
    pub clock: Arc<ManualClock>,
    // Last, because the store must be closed before its database is removed.
    _database: TestDatabase,
}

impl Fixture {
    pub async fn new(database: TestDatabase) -> Fixture {
        let store = database.open().await;
        Fixture::over(store, database)
    }

    pub fn over(store: Store, database: TestDatabase) -> Fixture {
        let clock = Arc::new(ManualClock::at(START_MS));
        Fixture { name: database.name, store, clock, _database: database }
    }

    /// Creates a user.
    pub async fn user(&self) -> Uuid {
        let id = Uuid::new_v4();
        let insert = "INSERT INTO users (id, username, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)";
        let name = id.to_string();
        let inserted = self.store.write(move |transaction| transaction.execute(insert, values![id, &name, START_MS]));
        inserted.await.expect("a user can be made");
        id
    }

    /// Returns the number of rows that a statement counts.
    pub async fn count(&self, sql: &'static str) -> i64 {
        let counted = self.store.read(move |transaction| transaction.row(sql, &[], |row| row.get::<i64>(0)));
        counted.await.expect("rows can be counted").expect("a count is a row")
    }
}

/// Creates a fixture for each kind of database.
pub async fn fixtures() -> Vec<Fixture> {
    let mut fixtures = Vec::new();
    for database in databases() {
        fixtures.push(Fixture::new(database).await);
    }
    fixtures
}

/// Returns code and message of an error.
pub fn error_of<T: std::fmt::Debug>(outcome: Result<T, ServiceError>) -> (GrpcCode, String) {
    let error = outcome.expect_err("it is rejected");
    (error.code, error.message.into_owned())
}
