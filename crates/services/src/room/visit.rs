//! History of room visits: buffered in memory and written in batches, because no request waits for it.

use super::{Rooms, now};
use crate::account::for_presence;
use crate::clock::new_id;
use crate::error::ServiceError;
use aether_store::{StoreError, Transaction, values};
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

/// Maximum number of buffered records. Beyond, the history gets gaps instead of exhausting memory.
const PENDING_MAX: usize = 100_000;
/// Maximum records per transaction, so that other writers get their turn.
const BATCH_MAX: usize = 1_000;
/// Maximum number of visits in one list.
pub const VISITS_LISTED_MAX: u32 = 100;

/// A player who joined a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Account of the player.
    pub user: Uuid,
    /// Session of the player.
    pub session: Uuid,
    /// Id of the room.
    pub room: String,
    /// Room type.
    pub room_type: String,
    /// Player id in the room.
    pub player: u32,
    /// Server that runs the room.
    pub node: String,
}

/// Record of a past or current visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisitRecord {
    /// Session of the player.
    pub session: Uuid,
    /// Id of the room.
    pub room: String,
    /// Room type.
    pub room_type: String,
    /// Time of the join, in milliseconds since 1970.
    pub joined_at: i64,
    /// Time of the leave, if the player has left.
    pub left_at: Option<i64>,
    /// Close reason, or `server_lost`.
    pub reason: String,
}

#[derive(Default)]
pub(super) struct Visits {
    pending: Mutex<VecDeque<VisitEvent>>,
}

/// Join or leave, in order of occurrence.
#[derive(Clone, Debug)]
enum VisitEvent {
    Joined { id: Uuid, visit: Visit, at: i64 },
    Left { room: String, player: u32, reason: &'static str, at: i64 },
}

impl Visits {
    fn push(&self, event: VisitEvent) {
        let mut pending = self.pending();
        if pending.len() < PENDING_MAX {
            pending.push_back(event);
        }
    }

    fn pending(&self) -> MutexGuard<'_, VecDeque<VisitEvent>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rooms {
    /// Records a join. It is written by the next [`Rooms::flush_visits`] if the user has an account.
    pub fn note_join(&self, visit: Visit) {
        let at = self.clock.now_ms();
        self.visits.push(VisitEvent::Joined { id: new_id(at), visit, at });
    }

    /// Records a leave and its reason.
    pub fn note_leave(&self, room: &str, player: u32, reason: &'static str) {
        self.visits.push(VisitEvent::Left { room: room.to_owned(), player, reason, at: self.clock.now_ms() });
    }

    /// Writes buffered records. Call it every second.
    pub async fn flush_visits(&self) -> Result<(), ServiceError> {
        loop {
            let batch: Arc<Vec<VisitEvent>> = {
                let mut pending = self.visits.pending();
                let count = pending.len().min(BATCH_MAX);
                Arc::new(pending.drain(..count).collect())
            };
            if batch.is_empty() {
                return Ok(());
            }
            let written = Arc::clone(&batch);
            let outcome: Result<(), StoreError> =
                self.store.write(move |transaction| write(transaction, &written)).await;
            if let Err(error) = outcome {
                // Records of a failed write are retried in order.
                let mut pending = self.visits.pending();
                batch.iter().rev().for_each(|event| pending.push_front(event.clone()));
                return Err(error.into());
            }
        }
    }

    /// Cleans up when a server starts again after a crash: releases its leases, since none of its rooms run, ends
    /// interrupted visits, and sets sessions of players to `authenticated`. Visits of durable rooms continue.
    pub async fn recover(&self, node: &str) -> Result<(), ServiceError> {
        let (node, at) = (node.to_owned(), self.clock.now_ms());
        let operation = move |transaction: &mut Transaction<'_>| {
            let now = now(transaction);
            let update = format!("UPDATE rooms SET lease_until = {now} WHERE node = ?1 AND lease_until > {now}");
            transaction.execute(&update, values![&node])?;
            let update = "UPDATE sessions SET state = 'authenticated'
                WHERE state IN ('connecting', 'active', 'resuming') AND revoked_at IS NULL
                    AND id IN (SELECT session FROM room_visits WHERE node = ?1 AND left_at IS NULL)";
            transaction.execute(update, values![&node])?;
            let update = "UPDATE room_visits SET left_at = ?2, reason = 'server_lost'
                WHERE node = ?1 AND left_at IS NULL AND room NOT IN (SELECT id FROM rooms)";
            transaction.execute(update, values![&node, at])?;
            Ok(())
        };
        self.store.write(operation).await
    }

    /// Lists the latest visits of a user, newest first.
    pub async fn visits(&self, user: Uuid, limit: u32) -> Result<Vec<VisitRecord>, ServiceError> {
        let limit = limit.clamp(1, VISITS_LISTED_MAX);
        let select = "SELECT session, room, room_type, joined_at, left_at, reason FROM room_visits
            WHERE user_id = ?1 ORDER BY joined_at DESC, id DESC LIMIT ?2";
        let operation = move |transaction: &mut Transaction<'_>| {
            let visits = transaction.rows(select, values![user, limit], |row| {
                Ok(VisitRecord {
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

fn write(transaction: &mut Transaction<'_>, batch: &[VisitEvent]) -> Result<(), StoreError> {
    let with_account = users_with_account(transaction, batch)?;
    for event in batch {
        match event {
            VisitEvent::Joined { id, visit, at } if with_account.contains(&visit.user) => {
                let insert = "INSERT INTO room_visits (id, user_id, session, room, room_type, player, node, joined_at)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO NOTHING";
                let Visit { user, session, room, room_type, player, node } = visit;
                let parameters = values![id, user, session, room, room_type, *player, node, *at];
                transaction.execute(insert, parameters)?;
            }
            VisitEvent::Joined { .. } => {}
            VisitEvent::Left { room, player, reason, at } => {
                let update = "UPDATE room_visits SET left_at = ?3, reason = ?4
                    WHERE room = ?1 AND player = ?2 AND left_at IS NULL";
                transaction.execute(update, values![room, *player, *at, *reason])?;
            }
        }
    }
    Ok(())
}

/// Returns the users of a batch that have an account. Their rows stay locked until the commit, in the order of their
/// ids, so that no visit outlives an account that is erased meanwhile.
fn users_with_account(transaction: &mut Transaction<'_>, batch: &[VisitEvent]) -> Result<HashSet<Uuid>, StoreError> {
    let mut users: Vec<Uuid> = batch
        .iter()
        .filter_map(|event| match event {
            VisitEvent::Joined { visit, .. } => Some(visit.user),
            VisitEvent::Left { .. } => None,
        })
        .collect();
    users.sort_unstable();
    users.dedup();
    let select = format!("SELECT id FROM users WHERE id = ?1{}", for_presence(transaction.dialect()));
    let mut present = HashSet::new();
    for user in users {
        if transaction.row(&select, values![user], |_| Ok(()))?.is_some() {
            present.insert(user);
        }
    }
    Ok(present)
}
