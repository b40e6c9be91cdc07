//! A store of each kind with users in it, at a time that is set by hand.

use aether_services::clock::ManualClock;
use aether_services::{GrpcCode, ServiceError};
use aether_store::{Store, values};
use aether_testkit_store::{TestDatabase, databases};
use std::sync::Arc;
use uuid::Uuid;

/// When tests begin.
pub const START_MS: i64 = 1_700_000_000_000;

/// A store with what is tested over it.
pub struct World {
    pub name: &'static str,
    pub store: Store,
    pub clock: Arc<ManualClock>,
    // Last, because the store has to be closed before its database is removed.
    _database: TestDatabase,
}

impl World {
    pub async fn new(database: TestDatabase) -> World {
        let store = database.open().await;
        World::over(store, database)
    }

    pub fn over(store: Store, database: TestDatabase) -> World {
        let clock = Arc::new(ManualClock::at(START_MS));
        World { name: database.name, store, clock, _database: database }
    }

    /// A new user.
    pub async fn user(&self) -> Uuid {
        let id = Uuid::new_v4();
        let insert = "INSERT INTO users (id, username, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)";
        let name = id.to_string();
        let inserted = self.store.write(move |transaction| transaction.execute(insert, values![id, &name, START_MS]));
        inserted.await.expect("a user can be made");
        id
    }

    /// The number of rows that a statement counts.
    pub async fn count(&self, sql: &'static str) -> i64 {
        let counted = self.store.read(move |transaction| transaction.row(sql, &[], |row| row.get::<i64>(0)));
        counted.await.expect("rows can be counted").expect("a count is a row")
    }
}

/// One world over each kind of database.
pub async fn worlds() -> Vec<World> {
    let mut worlds = Vec::new();
    for database in databases() {
        worlds.push(World::new(database).await);
    }
    worlds
}

/// The code and the sentence of a refusal.
pub fn refusal<T: std::fmt::Debug>(outcome: Result<T, ServiceError>) -> (GrpcCode, String) {
    let refusal = outcome.expect_err("it is refused");
    (refusal.code, refusal.message.into_owned())
}
