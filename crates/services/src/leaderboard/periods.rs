//! The periods that are in memory: the current ones always, earlier ones as long as there is room.

use super::BOARD_NOT_FOUND;
use super::board::Board;
use super::pending::Doubt;
use super::period::Period;
use crate::error::{INTERNAL, ServiceError};
use aether_ranks::{RankOwner, Score};
use aether_store::{Store, StoreError, values};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;
use uuid::Uuid;

/// Records of earlier periods that are kept in memory together, at about 46 bytes each.
const EARLIER_RECORDS_MAX: usize = 1_000_000;
/// Earlier periods that are kept in memory.
const EARLIER_PERIODS_MAX: usize = 256;
/// Records that are read at once while a period is loaded. Others who read have their turn in between.
const LOAD_STEP: i64 = 10_000;

/// The periods that are in memory.
///
/// A period is found under the number of its board, so one that is still in use when its board is deleted is never
/// mistaken for one of the next board of that id.
pub(super) struct Periods {
    store: Store,
    entries: Mutex<Entries>,
    /// Earlier periods are loaded one at a time: anyone may ask for one, and each takes memory before there is room.
    earlier: Semaphore,
    /// By board, period and owner.
    doubts: Mutex<BTreeMap<(u64, i64, Uuid), Doubt>>,
}

#[derive(Default)]
struct Entries {
    by_board: BTreeMap<(u64, i64), Entry>,
    uses: u64,
}

struct Entry {
    period: Arc<Period>,
    is_current: bool,
    /// Larger is later.
    last_use: u64,
}

impl Periods {
    pub fn new(store: Store) -> Periods {
        Periods { store, entries: Mutex::default(), earlier: Semaphore::new(1), doubts: Mutex::default() }
    }

    /// A period with its ranking, which is loaded if it has to be.
    ///
    /// As long as someone has it in hand it stays where others find it, so that all see the same one.
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
            // It goes on when whoever asked gives up, or a period that takes longer than their patience would be begun
            // again and again.
            let load = async move { periods.load(&board, expiry, is_current, &loaded).await };
            tokio::spawn(load).await.map_err(|_| INTERNAL)??;
        }
        Ok(period)
    }

    /// A period if it is in memory, loaded or not.
    pub fn find(&self, board: &Board, expiry: i64) -> Option<Arc<Period>> {
        self.lock().by_board.get(&(board.number, expiry)).map(|entry| Arc::clone(&entry.period))
    }

    /// Forgets the periods of a board that is being deleted. Whoever still has it in hand gets none any more.
    pub fn forget(&self, board: &Board) {
        let mut entries = self.lock();
        board.deleted.store(true, Ordering::Relaxed);
        entries.by_board.retain(|(number, _), _| *number != board.number);
    }

    /// Notes that a record may differ from what is in memory.
    pub fn doubt(&self, doubt: Doubt) {
        let key = (doubt.board.number, doubt.expiry, doubt.owner);
        self.doubts.lock().unwrap_or_else(PoisonError::into_inner).insert(key, doubt);
    }

    /// A record that may differ.
    pub fn take_doubt(&self) -> Option<Doubt> {
        self.doubts.lock().unwrap_or_else(PoisonError::into_inner).pop_first().map(|(_, doubt)| doubt)
    }

    /// Loads a period, or waits for who does already.
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
        self.lock().make_room();
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
        // Sorting a million records takes longer than others should wait for the thread.
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
            // A new period has begun.
            for (_, earlier) in self.by_board.range_mut((board.number, i64::MIN)..=(board.number, i64::MAX)) {
                earlier.is_current = false;
            }
        }
        let made = || Entry { period: Arc::new(Period::new(board.definition.order)), is_current, last_use };
        let entry = self.by_board.entry(key).or_insert_with(made);
        (entry.is_current, entry.last_use) = (is_current, last_use);
        Ok(Arc::clone(&entry.period))
    }

    /// Forgets the earlier periods that were not used for longest, as long as there are too many. Those in use stay,
    /// and empty ones go: they are loaded in no time.
    fn make_room(&mut self) {
        let mut earlier: Vec<(u64, (u64, i64), usize)> = Vec::new();
        for (key, entry) in &self.by_board {
            if !entry.is_current {
                let records = entry.period.look(|ranking| ranking.len()).unwrap_or(0);
                earlier.push((entry.last_use, *key, records));
            }
        }
        earlier.sort_unstable_by(|one, other| other.cmp(one));
        let mut kept = 0;
        let mut records_kept = 0;
        for (_, key, records) in earlier {
            let has_room = kept < EARLIER_PERIODS_MAX && records_kept + records <= EARLIER_RECORDS_MAX;
            let is_in_use = || self.by_board.get(&key).is_some_and(|entry| Arc::strong_count(&entry.period) > 1);
            if records > 0 && has_room || is_in_use() {
                kept += 1;
                records_kept += records;
            } else {
                self.by_board.remove(&key);
            }
        }
    }
}

#[cfg(test)]
impl Periods {
    /// Forgets all periods, as if none had been loaded.
    pub fn forget_loaded(&self) {
        self.lock().by_board.clear();
    }
}
