//! What was done in a transaction, on its way into memory.

use super::Leaderboards;
use super::board::Board;
use super::periods::Periods;
use super::record::read_one;
use crate::error::ServiceError;
use aether_ranks::Score;
use std::sync::Arc;
use uuid::Uuid;

/// A change of one record that waits for its commit.
///
/// If it is dropped instead, it is not known whether there was a commit, because the database went away just then: that
/// is a [`Doubt`], and the database is asked once it is back.
pub(super) struct Pending {
    periods: Arc<Periods>,
    doubt: Option<Doubt>,
}

/// A record about which memory and database may differ.
#[derive(Clone)]
pub(super) struct Doubt {
    pub board: Arc<Board>,
    pub expiry: i64,
    pub owner: Uuid,
}

impl Pending {
    pub fn new(periods: &Arc<Periods>, doubt: Doubt) -> Pending {
        Pending { periods: Arc::clone(periods), doubt: Some(doubt) }
    }

    /// It was committed: the record has this score now, or is gone. Tells the new rank.
    pub fn settle(mut self, score: Option<Score>) -> Option<u64> {
        let Doubt { board, expiry, owner } = self.doubt.take()?;
        self.periods.find(&board, expiry)?.note(owner, score)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(doubt) = self.doubt.take() {
            self.periods.doubt(doubt);
        }
    }
}

impl Leaderboards {
    /// Asks the database about all records that are in doubt.
    pub(super) async fn settle_doubts(&self) -> Result<(), ServiceError> {
        while let Some(doubt) = self.periods.take_doubt() {
            let (periods, asked) = (Arc::clone(&self.periods), doubt.clone());
            let settled = self.store.write_in_turn(Leaderboards::turn(doubt.owner), move |transaction| {
                let Doubt { board, expiry, owner } = &asked;
                let record = read_one(transaction, &board.definition.id, *expiry, *owner)?;
                let pending = Pending::new(&periods, asked.clone());
                transaction.after_commit(move || {
                    pending.settle(record.map(|record| record.score));
                });
                Ok(())
            });
            if let Err(refusal) = settled.await {
                self.periods.doubt(doubt);
                return Err(refusal);
            }
        }
        Ok(())
    }
}
