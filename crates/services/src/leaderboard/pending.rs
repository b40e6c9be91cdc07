//! Carries changes from a transaction into memory.

use super::Leaderboards;
use super::board::Board;
use super::periods::Periods;
use super::record::read_one;
use crate::error::ServiceError;
use aether_ranks::Score;
use std::sync::Arc;
use uuid::Uuid;

/// Change of one record that waits for its commit.
///
/// If it is dropped instead, the outcome of the commit is unknown, because the database connection was lost. The record
/// becomes an [`UncertainRecord`], which is read again when the database is back.
pub(super) struct Pending {
    periods: Arc<Periods>,
    uncertain: Option<UncertainRecord>,
}

/// Record that may differ between memory and database.
#[derive(Clone)]
pub(super) struct UncertainRecord {
    pub board: Arc<Board>,
    pub expiry: i64,
    pub owner: Uuid,
}

impl Pending {
    pub fn new(periods: &Arc<Periods>, uncertain: UncertainRecord) -> Pending {
        Pending { periods: Arc::clone(periods), uncertain: Some(uncertain) }
    }

    /// Ends a change that did not take place.
    pub fn cancel(mut self) {
        self.uncertain = None;
    }

    /// Applies the commit: the new score, or `None` for a deleted record. Returns the new rank.
    pub fn settle(mut self, score: Option<Score>) -> Option<u64> {
        let UncertainRecord { board, expiry, owner } = self.uncertain.take()?;
        self.periods.find(&board, expiry)?.note(owner, score)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(uncertain) = self.uncertain.take() {
            self.periods.add_uncertain(uncertain);
        }
    }
}

impl Leaderboards {
    /// Reads all uncertain records from the database.
    pub(super) async fn settle_uncertain(&self) -> Result<(), ServiceError> {
        while let Some(uncertain) = self.periods.take_uncertain() {
            let (periods, record_key) = (Arc::clone(&self.periods), uncertain.clone());
            let settled = self.store.write_in_order(Leaderboards::turn(uncertain.owner), move |transaction| {
                let UncertainRecord { board, expiry, owner } = &record_key;
                let record = read_one(transaction, &board.definition.id, *expiry, *owner)?;
                let pending = Pending::new(&periods, record_key.clone());
                transaction.after_commit(move || {
                    pending.settle(record.map(|record| record.score));
                });
                Ok(())
            });
            if let Err(error) = settled.await {
                self.periods.add_uncertain(uncertain);
                return Err(error);
            }
        }
        Ok(())
    }
}
