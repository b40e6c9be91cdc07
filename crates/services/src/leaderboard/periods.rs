//! Periods in memory: current ones always, earlier ones within limits.

use super::BOARD_NOT_FOUND;
use super::board::Board;
use super::pending::UncertainRecord;
use super::period::Period;
use crate::error::{INTERNAL, ServiceError};
use aether_ranks::{RankOwner, Score};
use aether_store::{Store, StoreError, values};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;
use uuid::Uuid;

/// Maximum records of earlier periods in memory, at about 46 bytes each.
const EARLIER_RECORDS_MAX: usize = 1_000_000;
/// Maximum earlier periods in memory.
const EARLIER_PERIODS_MAX: usize = 256;
/// Records read per statement while a period is loaded. Other readers get their turn in between.
const LOAD_STEP: i64 = 10_000;

/// Periods in memory.
///
/// Periods are keyed by the number of their board, so one that is in use when its board is deleted is never mistaken
/// for one of a later board with the same id.
pub(super) struct Periods {
    store: Store,
    entries: Mutex<Entries>,
    /// Limits loading of earlier periods to one at a time: anyone may request one, and each takes memory before others
    /// are evicted.
    earlier: Semaphore,
    /// Uncertain records by board, period and owner.
    uncertain: Mutex<BTreeMap<(u64, i64, Uuid), UncertainRecord>>,
}

#[derive(Default)]
struct Entries {
    by_board: BTreeMap<(u64, i64), Entry>,
    uses: u64,
}

struct Entry {
    period: Arc<Period>,
    is_current: bool,
    /// Use counter. Larger is later.
    last_use: u64,
}

impl Periods {
    pub fn new(store: Store) -> Periods {
        Periods { store, entries: Mutex::default(), earlier: Semaphore::new(1), uncertain: Mutex::default() }
    }

    /// Returns a period with its ranking, which is loaded if necessary.
    ///
    /// A period in use stays in the map, so that all callers share one.
    pub async fn ready(
        self: &Arc<Self>,
        board: &Arc<Board>,
        expiry: i64,
        now: i64,
    ) -> Result<Arc<Period>, ServiceError> {
        let is_current = expiry == board.expiry(now);
        let period = self.lock().enter(board, expiry, is_current)?;
        if !period.loaded.initialized() {
            let (periods, board, loaded) = (Arc::clone(self), Arc::clone(board), Arc::clone(&period));
            // Runs in its own task, so that it continues if the caller gives up. Otherwise a period that takes longer
            // than a request's time limit would never finish loading.
            let load = async move { periods.load(&board, expiry, is_current, &loaded).await };
            tokio::spawn(load).await.map_err(|_| INTERNAL)??;
        }
        Ok(period)
    }

    /// Returns a period in memory, loaded or not.
    pub fn find(&self, board: &Board, expiry: i64) -> Option<Arc<Period>> {
        self.lock().by_board.get(&(board.number, expiry)).map(|entry| Arc::clone(&entry.period))
    }

    /// Removes the periods of a deleted board. Callers that still hold the board get no more periods.
    pub fn forget(&self, board: &Board) {
        let mut entries = self.lock();
        board.deleted.store(true, Ordering::Relaxed);
        entries.by_board.retain(|(number, _), _| *number != board.number);
    }

    /// Adds a record that may differ from memory.
    pub fn add_uncertain(&self, record: UncertainRecord) {
        let key = (record.board.number, record.expiry, record.owner);
        self.uncertain.lock().unwrap_or_else(PoisonError::into_inner).insert(key, record);
    }

    /// Takes a record that may differ from memory.
    pub fn take_uncertain(&self) -> Option<UncertainRecord> {
        self.uncertain.lock().unwrap_or_else(PoisonError::into_inner).pop_first().map(|(_, record)| record)
    }

    /// Loads a period, or waits until another task has loaded it.
    async fn load(
        &self,
        board: &Board,
        expiry: i64,
        is_current: bool,
        period: &Arc<Period>,
    ) -> Result<(), ServiceError> {
        let load = || async {
            let _turn = match is_current {
                true => None,
                false => Some(self.earlier.acquire().await.map_err(|_| INTERNAL)?),
            };
            self.fill(&board.definition.id, expiry, period).await
        };
        period.loaded.get_or_try_init(load).await?;
        self.lock().evict();
        Ok(())
    }

    async fn fill(&self, board_id: &str, expiry: i64, period: &Arc<Period>) -> Result<(), ServiceError> {
        let mut records = Vec::new();
        let mut from = Some(0_u128);
        while let Some(first) = from {
            let board_id = board_id.to_owned();
            let step = self.store.read(move |transaction| {
                transaction.rows(
                    "SELECT owner_id, score, subscore FROM leaderboard_records \
                     WHERE leaderboard_id = ?1 AND expiry = ?2 AND owner_id >= ?3 ORDER BY owner_id LIMIT ?4",
                    values![&board_id, expiry, Uuid::from_u128(first), LOAD_STEP],
                    |row| {
                        let score = Score { score: row.get(1)?, subscore: row.get(2)? };
                        Ok((RankOwner::from(row.get::<Uuid>(0)?.as_u128()), score))
                    },
                )
            });
            let step: Vec<(RankOwner, Score)> = step.await.map_err(|error: StoreError| ServiceError::from(error))?;
            let is_last = (step.len() as i64) < LOAD_STEP;
            from = step.last().filter(|_| !is_last).and_then(|(owner, _)| u128::from(*owner).checked_add(1));
            records.extend(step);
        }
        let period = Arc::clone(period);
        // Sorting a million records would block the async thread.
        tokio::task::spawn_blocking(move || period.fill(records)).await.map_err(|_| INTERNAL)
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn enter(&mut self, board: &Board, expiry: i64, is_current: bool) -> Result<Arc<Period>, ServiceError> {
        if board.deleted.load(Ordering::Relaxed) {
            return Err(BOARD_NOT_FOUND);
        }
        self.uses += 1;
        let last_use = self.uses;
        let key = (board.number, expiry);
        if let Some(entry) = self.by_board.get_mut(&key).filter(|entry| entry.is_current || !is_current) {
            entry.last_use = last_use;
            return Ok(Arc::clone(&entry.period));
        }
        if is_current {
            // A new period begins.
            for (_, earlier) in self.by_board.range_mut((board.number, i64::MIN)..=(board.number, i64::MAX)) {
                earlier.is_current = false;
            }
        }
        let new_entry = || Entry { period: Arc::new(Period::new(board.definition.order)), is_current, last_use };
        let entry = self.by_board.entry(key).or_insert_with(new_entry);
        (entry.is_current, entry.last_use) = (is_current, last_use);
        Ok(Arc::clone(&entry.period))
    }

    /// Evicts the least recently used earlier periods while the limits are exceeded. Periods in use stay. Empty ones
    /// are evicted, because loading them is cheap.
    fn evict(&mut self) {
        let mut earlier: Vec<(u64, (u64, i64), usize)> = Vec::new();
        for (key, entry) in &self.by_board {
            if !entry.is_current {
                let records = entry.period.with_ranking(|ranking| ranking.len()).unwrap_or(0);
                earlier.push((entry.last_use, *key, records));
            }
        }
        earlier.sort_unstable_by(|one, other| other.cmp(one));
        let mut periods = 0;
        let mut records_total = 0;
        for (_, key, records) in earlier {
            let fits = periods < EARLIER_PERIODS_MAX && records_total + records <= EARLIER_RECORDS_MAX;
            let is_in_use = || self.by_board.get(&key).is_some_and(|entry| Arc::strong_count(&entry.period) > 1);
            if records > 0 && fits || is_in_use() {
                periods += 1;
                records_total += records;
            } else {
                self.by_board.remove(&key);
            }
        }
    }
}

#[cfg(test)]
impl Periods {
    /// Removes all periods, as if none had been loaded.
    pub fn forget_loaded(&self) {
        self.lock().by_board.clear();
    }
}
