//! Who was in which room: gathered in memory and written many at once, because nobody waits for it.

use super::{Rooms, now};
use crate::account::for_presence;
use crate::clock::new_id;
use crate::error::ServiceError;
use aether_store::{StoreError, Transaction, values};
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

/// What may wait to be written. Beyond that the history has gaps rather than the server no memory.
const WAITING_MAX: usize = 100_000;
/// What is written at once, so that others get their turn.
const BATCH_MAX: usize = 1_000;
/// Visits in one answer.
pub const VISITS_LISTED_MAX: u32 = 100;

/// Someone who came into a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Who.
    pub user: Uuid,
    /// In which session.
    pub session: Uuid,
    /// Which room.
    pub room: String,
    /// Its type.
    pub room_type: String,
    /// The number in the room.
    pub player: u32,
    /// The server.
    pub node: String,
}

/// A visit of the past, or of now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastVisit {
    /// In which session.
    pub session: Uuid,
    /// Which room.
    pub room: String,
    /// Its type.
    pub room_type: String,
    /// When it began, in milliseconds since 1970.
    pub joined_at: i64,
    /// When it ended, if it has.
    pub left_at: Option<i64>,
    /// How it ended: the name of a close reason, or `server_lost`.
    pub reason: String,
}

#[derive(Default)]
pub(super) struct Visits {
    waiting: Mutex<VecDeque<Note>>,
}

/// Joins and leaves, in the order in which they were.
#[derive(Clone, Debug)]
enum Note {
    Joined { id: Uuid, visit: Visit, at: i64 },
    Left { room: String, player: u32, reason: &'static str, at: i64 },
}

impl Visits {
    fn note(&self, note: Note) {
        let mut waiting = self.waiting();
        if waiting.len() < WAITING_MAX {
            waiting.push_back(note);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Note>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rooms {
    /// Notes that someone came in. It is written with the next [`Rooms::flush_visits`], if they have an account.
    pub fn note_join(&self, visit: Visit) {
        let at = self.clock.now_ms();
        self.visits.note(Note::Joined { id: new_id(at), visit, at });
    }

    /// Notes that someone left, and why.
    pub fn note_leave(&self, room: &str, player: u32, reason: &'static str) {
        self.visits.note(Note::Left { room: room.to_owned(), player, reason, at: self.clock.now_ms() });
    }

    /// Writes what was noted. To be called each second.
    pub async fn flush_visits(&self) -> Result<(), ServiceError> {
        loop {
            let batch: Arc<Vec<Note>> = {
                let mut waiting = self.visits.waiting();
                let count = waiting.len().min(BATCH_MAX);
                Arc::new(waiting.drain(..count).collect())
            };
            if batch.is_empty() {
                return Ok(());
            }
            let written = Arc::clone(&batch);
            let outcome: Result<(), StoreError> =
                self.store.write(move |transaction| write(transaction, &written)).await;
            if let Err(error) = outcome {
                // What was not written is tried again, in its order.
                let mut waiting = self.visits.waiting();
                batch.iter().rev().for_each(|note| waiting.push_front(note.clone()));
                return Err(error.into());
            }
        }
    }

    /// Tidies up after a server that was killed, when it starts again: none of its rooms run, so others may take them, and
    /// the visits that were cut off have ended. Those in durable rooms go on.
    pub async fn recover(&self, node: &str) -> Result<(), ServiceError> {
        let (node, at) = (node.to_owned(), self.clock.now_ms());
        let operation = move |transaction: &mut Transaction<'_>| {
            let now = now(transaction);
            let update = format!("UPDATE rooms SET lease_until = {now} WHERE node = ?1 AND lease_until > {now}");
            transaction.execute(&update, values![&node])?;
            let update = "UPDATE room_visits SET left_at = ?2, reason = 'server_lost'
                WHERE node = ?1 AND left_at IS NULL AND room NOT IN (SELECT id FROM rooms)";
            transaction.execute(update, values![&node, at])?;
            Ok(())
        };
        self.store.write(operation).await
    }

    /// The last visits of a user, the newest first.
    pub async fn visits(&self, user: Uuid, limit: u32) -> Result<Vec<PastVisit>, ServiceError> {
        let limit = limit.clamp(1, VISITS_LISTED_MAX);
        let select = "SELECT session, room, room_type, joined_at, left_at, reason FROM room_visits
            WHERE user_id = ?1 ORDER BY joined_at DESC, id DESC LIMIT ?2";
        let operation = move |transaction: &mut Transaction<'_>| {
            let visits = transaction.rows(select, values![user, limit], |row| {
                Ok(PastVisit {
                    session: row.get(0)?,
                    room: row.get(1)?,
                    room_type: row.get(2)?,
                    joined_at: row.get(3)?,
                    left_at: row.get(4)?,
                    reason: row.get(5)?,
                })
            })?;
            Ok(visits)
        };
        self.store.read(operation).await
    }
}

fn write(transaction: &mut Transaction<'_>, batch: &[Note]) -> Result<(), StoreError> {
    let present = present(transaction, batch)?;
    for note in batch {
        match note {
            Note::Joined { id, visit, at } if present.contains(&visit.user) => {
                let insert = "INSERT INTO room_visits (id, user_id, session, room, room_type, player, node, joined_at)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO NOTHING";
                let Visit { user, session, room, room_type, player, node } = visit;
                let parameters = values![id, user, session, room, room_type, *player, node, *at];
                transaction.execute(insert, parameters)?;
            }
            Note::Joined { .. } => {}
            Note::Left { room, player, reason, at } => {
                let update = "UPDATE room_visits SET left_at = ?3, reason = ?4
                    WHERE room = ?1 AND player = ?2 AND left_at IS NULL";
                transaction.execute(update, values![room, *player, *at, *reason])?;
            }
        }
    }
    Ok(())
}

/// Which users have an account, of those who came. Their rows stay locked until the commit, in the order of their ids, so
/// that no visit outlives an account that is erased meanwhile.
fn present(transaction: &mut Transaction<'_>, batch: &[Note]) -> Result<HashSet<Uuid>, StoreError> {
    let mut users: Vec<Uuid> = batch
        .iter()
        .filter_map(|note| match note {
            Note::Joined { visit, .. } => Some(visit.user),
            Note::Left { .. } => None,
        })
        .collect();
    users.sort_unstable();
    users.dedup();
    let select = format!("SELECT id FROM users WHERE id = ?1{}", for_presence(transaction));
    let mut present = HashSet::new();
    for user in users {
        if transaction.row(&select, values![user], |_| Ok(()))?.is_some() {
            present.insert(user);
        }
    }
    Ok(present)
}
