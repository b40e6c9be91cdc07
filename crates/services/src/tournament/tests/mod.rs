//! Tournaments over real databases, with a manual clock.

mod entering;
mod listing;
mod reports;
mod scores;

use super::*;
use crate::caller::UserIdentity;
use crate::clock::ManualClock;
use crate::leaderboard::Score;
use aether_testkit_store::TestDatabase;
use std::collections::BTreeMap;

/// 2026-11-16, a Monday, at noon.
const NOON: i64 = 1_794_830_400;
const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;
/// Midnight after [`NOON`].
const MIDNIGHT: i64 = NOON + DAY / 2;

struct Fixture {
    store: Store,
    clock: Arc<ManualClock>,
    boards: Arc<Leaderboards>,
    tournaments: Arc<Tournaments>,
}

impl Fixture {
    async fn at(database: &TestDatabase) -> Fixture {
        Fixture::over(database.open().await, Arc::new(ManualClock::at(NOON * 1_000))).await
    }

    async fn over(store: Store, clock: Arc<ManualClock>) -> Fixture {
        let boards = Arc::new(Leaderboards::open(store.clone(), clock.clone()).await.unwrap());
        let tournaments = Arc::new(Tournaments::new(store.clone(), clock.clone(), Arc::clone(&boards)));
        Fixture { store, clock, boards, tournaments }
    }

    /// Returns the services after a restart.
    async fn reopened(&self) -> Fixture {
        Fixture::over(self.store.clone(), Arc::clone(&self.clock)).await
    }

    /// Sets the clock, in seconds since 1970.
    fn set(&self, now: i64) {
        self.clock.advance_ms(now * 1_000 - self.clock.now_ms());
    }

    async fn submit(&self, id: &str, owner: Uuid, score: i64) -> Result<Record, ServiceError> {
        self.tournaments.write(&Caller::Server, id, write(owner, score)).await
    }

    async fn find(&self, id: &str) -> Tournament {
        self.tournaments.find(&[id.to_owned()]).await.unwrap().pop().unwrap()
    }

    /// Returns the scores of a period, best first.
    async fn scores(&self, id: &str, expiry: i64) -> Vec<i64> {
        let query = RecordQuery { limit: Some(100), expiry, ..RecordQuery::default() };
        let list = self.tournaments.records(id, &[], &query).await.unwrap();
        list.records.iter().map(|record| record.score.score).collect()
    }
}

/// Returns a tournament that is reset at midnight and active for six hours after that.
fn nightly(id: &str) -> Definition {
    let terms = Terms { title: "Night run".to_owned(), ..Terms::lasting(6 * HOUR) };
    Definition { reset_schedule: "0 0 * * *".to_owned(), ..Definition::new(id) }.tournament(terms)
}

/// Changes the terms of a definition.
fn with(mut definition: Definition, change: impl FnOnce(&mut Terms)) -> Definition {
    change(definition.tournament.as_mut().unwrap());
    definition
}

fn once(id: &str) -> Definition {
    Definition::new(id).tournament(Terms::lasting(DAY))
}

fn owner(number: u128) -> Uuid {
    Uuid::from_u128(number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835))
}

fn write(owner: Uuid, score: i64) -> RecordWrite {
    let score = Score { score, subscore: 0 };
    RecordWrite { owner, username: "someone".to_owned(), score, operator: None, metadata: None }
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
