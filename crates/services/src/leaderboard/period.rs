//! Who stands where in one period of a board, in memory.

use aether_ranks::{RankOrder, RankOwner, RankedRecord, Ranking, Score};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::OnceCell;
use uuid::Uuid;

/// The ranking of one period.
///
/// Commits are told from the moment at which loading begins. So whatever the database is read in between, nothing is
/// missing at the end: what was committed before is read, and what was committed after is told.
pub(super) struct Period {
    state: Mutex<State>,
    order: RankOrder,
    /// Set when the ranking is there, by one of those who wait for it.
    pub loaded: OnceCell<()>,
}

enum State {
    /// What was committed meanwhile, in order.
    Loading(Vec<(RankOwner, Option<Score>)>),
    Ready(Ranking),
}

impl Period {
    pub fn new(order: RankOrder) -> Period {
        Period { state: Mutex::new(State::Loading(Vec::new())), order, loaded: OnceCell::new() }
    }

    /// What was read from the database takes its place.
    pub fn fill(&self, records: Vec<(RankOwner, Score)>) {
        // Long for many records, and so before the lock is taken.
        let mut ranking = Ranking::from_records(self.order, records);
        let mut state = self.lock();
        if let State::Loading(changes) = &mut *state {
            for (owner, score) in changes.drain(..) {
                apply(&mut ranking, owner, score);
            }
        }
        *state = State::Ready(ranking);
    }

    /// Takes over what was committed: a score, or none where a record was removed. Tells the new rank.
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

    /// Looks at the ranking, once it is there. This holds up those who write, so it has to be short.
    pub fn look<T>(&self, look: impl FnOnce(&Ranking) -> T) -> Option<T> {
        match &*self.lock() {
            State::Ready(ranking) => Some(look(ranking)),
            State::Loading(_) => None,
        }
    }

    /// Where an owner stands.
    pub fn standing(&self, owner: Uuid) -> Option<RankedRecord> {
        self.look(|ranking| ranking.standing(rank_owner(owner))).flatten()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic cannot leave it half done: a ranking is whole between calls.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An owner as rankings know them.
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
