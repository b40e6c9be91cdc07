//! Leaderboards over real databases.

mod boards;
mod concurrency;
mod listing;
mod model;
mod periods;
mod timing;
mod writing;

use super::*;
use crate::caller::{Caller, UserIdentity};
use crate::clock::ManualClock;
use aether_testkit_store::TestDatabase;
use std::collections::BTreeMap;
use uuid::Uuid;

/// 2026-11-16, a Monday, at noon.
const NOON: i64 = 1_794_830_400;

/// Leaderboards with a manual clock.
struct Fixture {
    store: Store,
    clock: Arc<ManualClock>,
    boards: Arc<Leaderboards>,
}

impl Fixture {
    async fn at(database: &TestDatabase) -> Fixture {
        Fixture::over(database.open().await).await
    }

    async fn over(store: Store) -> Fixture {
        let clock = Arc::new(ManualClock::at(NOON * 1_000));
        let boards = Leaderboards::open(store.clone(), clock.clone()).await.unwrap();
        Fixture { store, clock, boards: Arc::new(boards) }
    }

    /// Returns the leaderboards after a restart.
    async fn reopened(&self) -> Fixture {
        let boards = Leaderboards::open(self.store.clone(), self.clock.clone()).await.unwrap();
        Fixture { store: self.store.clone(), clock: Arc::clone(&self.clock), boards: Arc::new(boards) }
    }

    /// Writes a score as the server.
    async fn submit(&self, board: &str, owner: Uuid, score: i64) -> Record {
        self.boards.write(&Caller::Server, board, write(owner, score, 0)).await.unwrap()
    }

    /// Returns all records of a period, page by page.
    async fn all(&self, board: &str, expiry: i64) -> Vec<Record> {
        let mut records = Vec::new();
        let mut query = RecordQuery { limit: Some(100), expiry, ..RecordQuery::default() };
        loop {
            let page = self.boards.records(board, &[], &query).await.unwrap();
            records.extend(page.records);
            query.cursor = page.next_cursor;
            if query.cursor.is_empty() {
                return records;
            }
        }
    }

    /// Returns owners and scores of a period from the database, best first.
    async fn ordered_by_the_database(&self, board: &Board, expiry: i64) -> Vec<(Uuid, Score)> {
        let direction = if board.definition.order == RankOrder::Ascending { "" } else { " DESC" };
        let id = board.definition.id.clone();
        let sql = format!(
            "SELECT owner_id, score, subscore FROM leaderboard_records WHERE leaderboard_id = ?1 AND expiry = ?2 \
             ORDER BY score{direction}, subscore{direction}, owner_id{direction}"
        );
        let read = self.store.read(move |transaction| {
            transaction.rows(&sql, values![&id, expiry], |row| {
                Ok((row.get(0)?, Score { score: row.get(1)?, subscore: row.get(2)? }))
            })
        });
        read.await.map_err(|error: StoreError| error).unwrap()
    }
}

fn owner(number: u128) -> Uuid {
    // Spread over all bytes, in another order than the numbers.
    Uuid::from_u128(number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835))
}

fn user(id: Uuid) -> Caller {
    Caller::User(Arc::new(UserIdentity {
        user: id,
        username: format!("user-{id}"),
        session: Uuid::nil(),
        variables: BTreeMap::new(),
        role: Default::default(),
        issued_at: 0,
        expires_at: u64::MAX,
    }))
}

fn write(owner: Uuid, score: i64, subscore: i64) -> RecordWrite {
    RecordWrite {
        owner,
        username: "someone".to_owned(),
        score: Score { score, subscore },
        operator: None,
        metadata: None,
    }
}

fn limit(limit: i64) -> RecordQuery {
    RecordQuery { limit: Some(limit), ..RecordQuery::default() }
}
