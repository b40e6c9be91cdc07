//! Ranking of one period of a board, in memory.

use aether_ranks::{RankOrder, RankOwner, RankedRecord, Ranking, Score};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::OnceCell;
use uuid::Uuid;

/// Ranking of one period.
///
/// Commits are noted from the moment at which loading begins. So nothing is missing in the end, whenever the database
/// is read: earlier commits are read, and later ones are noted.
pub(super) struct Period {
    state: Mutex<State>,
    order: RankOrder,
    /// Set when the ranking is loaded, by one of the waiting tasks.
    pub loaded: OnceCell<()>,
}

enum State {
    /// Changes committed while loading, in order.
    Loading(Vec<(RankOwner, Option<Score>)>),
    Ready(Ranking),
}

impl Period {
    pub fn new(order: RankOrder) -> Period {
        Period { state: Mutex::new(State::Loading(Vec::new())), order, loaded: OnceCell::new() }
    }

    /// Sets the records that were read from the database.
    pub fn fill(&self, records: Vec<(RankOwner, Score)>) {
        // Slow for many records, so it is done before locking.
        let mut ranking = Ranking::from_records(self.order, records);
        let mut state = self.lock();
        if let State::Loading(changes) = &mut *state {
            for (owner, score) in changes.drain(..) {
                apply(&mut ranking, owner, score);
            }
        }
        *state = State::Ready(ranking);
    }

    /// Applies a committed change: a score, or `None` for a deleted record. Returns the new rank.
    pub fn note(&self, owner: Uuid, score: Option<Score>) -> Option<u64> {
        let owner = rank_owner(owner);
        match &mut *self.lock() {
            State::Ready(ranking) => apply(ranking, owner, score),
            State::Loading(changes) => {
                changes.push((owner, score));
                None
            }
        }
    }

    /// Runs a function on the ranking, if it is loaded. It blocks writers, so it has to be short.
    pub fn with_ranking<T>(&self, read: impl FnOnce(&Ranking) -> T) -> Option<T> {
        match &*self.lock() {
            State::Ready(ranking) => Some(read(ranking)),
            State::Loading(_) => None,
        }
    }

    /// Returns the rank of an owner.
    pub fn ranked_record(&self, owner: Uuid) -> Option<RankedRecord> {
        self.with_ranking(|ranking| ranking.ranked_record(rank_owner(owner))).flatten()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic cannot leave it inconsistent: a ranking is complete between calls.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Converts an owner's id for rankings.
pub(super) fn rank_owner(owner: Uuid) -> RankOwner {
    RankOwner::from_bytes(owner.into_bytes())
}

fn apply(ranking: &mut Ranking, owner: RankOwner, score: Option<Score>) -> Option<u64> {
    match score {
        Some(score) => Some(ranking.set(owner, score)),
        None => {
            ranking.remove(owner);
            None
        }
    }
}
