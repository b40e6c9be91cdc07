//! Mutes: players who may not speak in chat. A mute ends at its time without any work.

use super::limits::{LISTED_MAX, MUTE_SECONDS_MAX, MUTED_MAX, NOTE_BYTES_MAX};
use super::{Moderation, NO_PLAYER};
use crate::clock::new_id;
use crate::error::{GrpcCode, ServiceError};
use crate::leaderboard::Leaderboards;
use crate::{cursor, rfc3339};
use aether_metrics::Gauge;
use aether_store::{SqlRow, StoreError, Transaction, values};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use uuid::Uuid;

/// End of a mute without end.
const ENDLESS: i64 = i64::MAX;

/// Mute to give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMute {
    /// Player.
    pub user: Uuid,
    /// Duration in seconds; without end if there is none.
    pub seconds: Option<i64>,
    /// Reason, which the player sees.
    pub reason: String,
    /// Account that mutes; the nil id for the operator.
    pub muted_by: Uuid,
}

/// Mute of a player.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mute {
    /// Id of the mute.
    pub id: Uuid,
    /// Player.
    pub user: Uuid,
    /// Username; empty if it was not read.
    pub username: String,
    /// Reason.
    pub reason: String,
    /// Account that muted; the nil id for the operator.
    pub muted_by: Uuid,
    /// Start, in milliseconds since 1970.
    pub created_at: i64,
    /// End, in milliseconds since 1970; none for a mute without end.
    pub expires_at: Option<i64>,
}

/// Page of mutes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MutePage {
    /// Mutes that have not ended, the first to end first.
    pub mutes: Vec<Mute>,
    /// Cursor of the next page; empty at the end.
    pub cursor: String,
}

/// Muted players with the ends of their mutes, in memory.
pub(super) struct Muted {
    ends: RwLock<HashMap<Uuid, i64>>,
    count: Gauge,
}

impl Moderation {
    /// Returns true if a player is muted. It answers from memory.
    #[must_use]
    pub fn is_muted(&self, user: Uuid) -> bool {
        self.muted.end_of(user).is_some_and(|end| end > self.clock.now_ms())
    }

    /// Returns an error with the end of the mute if a player is muted. It answers from memory.
    pub fn check_not_muted(&self, user: Uuid) -> Result<(), ServiceError> {
        match self.muted.end_of(user) {
            Some(ENDLESS) => Err(ServiceError::new(GrpcCode::PermissionDenied, "You are muted.")),
            Some(end) if end > self.clock.now_ms() => {
                let message = format!("You are muted until {}.", rfc3339(end));
                Err(ServiceError::with(GrpcCode::PermissionDenied, message))
            }
            _ => Ok(()),
        }
    }

    /// Mutes a player. A mute that has not ended is replaced.
    pub async fn mute(&self, new: NewMute) -> Result<Mute, ServiceError> {
        let now = self.clock.now_ms();
        new.check()?;
        self.muted.check_place(new.user, now)?;
        let (muted, turn) = (Arc::clone(&self.muted), Leaderboards::turn(new.user));
        // In order, so that of two concurrent changes the stored one is also the one in memory.
        self.store.write_in_order(turn, move |transaction| insert(transaction, &muted, &new, now)).await
    }

    /// Ends the mute of a player. Returns false if there is none.
    pub async fn unmute(&self, user: Uuid) -> Result<bool, ServiceError> {
        let (now, muted) = (self.clock.now_ms(), Arc::clone(&self.muted));
        let operation = move |transaction: &mut Transaction<'_>| {
            let lifted = lift(transaction, user, now)?;
            let muted = Arc::clone(&muted);
            transaction.after_commit(move || muted.remove(user));
            Ok(lifted > 0)
        };
        self.store.write_in_order(Leaderboards::turn(user), operation).await
    }

    /// Returns the mute of a player that has not ended.
    pub async fn find_mute(&self, user: Uuid) -> Result<Option<Mute>, ServiceError> {
        let now = self.clock.now_ms();
        let select = format!("{SELECT} WHERE m.user_id = ?1 AND m.lifted_at IS NULL AND m.expires_at > ?2");
        let operation =
            move |transaction: &mut Transaction<'_>| transaction.row(&select, values![user, now], Mute::read);
        Ok(self.store.read(operation).await.map_err(|error: StoreError| error)?)
    }

    /// Lists the mutes that have not ended, the first to end first.
    pub async fn list_mutes(&self, limit: u32, cursor: &str) -> Result<MutePage, ServiceError> {
        let limit = limit.clamp(1, LISTED_MAX);
        let (end, id) = cursor::decode::<(i64, Uuid)>(cursor)?.unwrap_or((self.clock.now_ms(), Uuid::max()));
        let select = format!(
            "{SELECT} WHERE m.lifted_at IS NULL AND (m.expires_at, m.id) > (?1, ?2)
                ORDER BY m.expires_at, m.id LIMIT ?3"
        );
        let operation = move |transaction: &mut Transaction<'_>| {
            transaction.rows(&select, values![end, id, i64::from(limit) + 1], Mute::read)
        };
        let mut mutes = self.store.read(operation).await.map_err(|error: StoreError| error)?;
        let has_more = mutes.len() > limit as usize;
        mutes.truncate(limit as usize);
        let position = |mute: &Mute| cursor::encode(&(mute.expires_at.unwrap_or(ENDLESS), mute.id));
        let cursor = mutes.last().filter(|_| has_more).map(position).unwrap_or_default();
        Ok(MutePage { mutes, cursor })
    }
}

impl NewMute {
    pub(super) fn check(&self) -> Result<(), ServiceError> {
        if self.seconds.is_some_and(|seconds| !(1..=MUTE_SECONDS_MAX).contains(&seconds)) {
            let message = format!("A mute lasts 1 to {MUTE_SECONDS_MAX} seconds, or has no end without `seconds`.");
            return Err(ServiceError::invalid(message));
        }
        if self.reason.len() > NOTE_BYTES_MAX {
            return Err(ServiceError::invalid(format!("`reason` must have at most {NOTE_BYTES_MAX} bytes.")));
        }
        Ok(())
    }
}

/// Mutes a player within a transaction of the player's [turn](Leaderboards::turn).
pub(super) fn insert(
    transaction: &mut Transaction<'_>,
    muted: &Arc<Muted>,
    new: &NewMute,
    now: i64,
) -> Result<Mute, ServiceError> {
    let NewMute { user, seconds, reason, muted_by } = new;
    let exists = transaction.row("SELECT username FROM users WHERE id = ?1", values![user], |row| row.get(0))?;
    let username: String = exists.ok_or(NO_PLAYER)?;
    lift(transaction, *user, now)?;
    let expires_at = seconds.map_or(ENDLESS, |seconds| now.saturating_add(seconds * 1_000));
    let id = new_id(now);
    let insert = "INSERT INTO mutes (id, user_id, reason, muted_by, created_at, expires_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    transaction.execute(insert, values![id, user, reason, muted_by, now, expires_at])?;
    let (muted, changed) = (Arc::clone(muted), *user);
    transaction.after_commit(move || muted.insert(changed, expires_at));
    let expires_at = Some(expires_at).filter(|end| *end != ENDLESS);
    Ok(Mute { id, user: *user, username, reason: reason.clone(), muted_by: *muted_by, created_at: now, expires_at })
}

/// Loads the mutes that have not ended.
pub(super) fn load(transaction: &mut Transaction<'_>, now: i64) -> Result<HashMap<Uuid, i64>, StoreError> {
    let select = "SELECT user_id, expires_at FROM mutes WHERE lifted_at IS NULL AND expires_at > ?1";
    let rows = transaction.rows(select, values![now], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.into_iter().collect())
}

fn lift(transaction: &mut Transaction<'_>, user: Uuid, now: i64) -> Result<u64, StoreError> {
    let update = "UPDATE mutes SET lifted_at = ?2 WHERE user_id = ?1 AND lifted_at IS NULL AND expires_at > ?2";
    transaction.execute(update, values![user, now])
}

const SELECT: &str = "SELECT m.id, m.user_id, u.username, m.reason, m.muted_by, m.created_at, m.expires_at
    FROM mutes m JOIN users u ON u.id = m.user_id";

impl Mute {
    fn read(row: &SqlRow<'_>) -> Result<Mute, StoreError> {
        Ok(Mute {
            id: row.get(0)?,
            user: row.get(1)?,
            username: row.get(2)?,
            reason: row.get(3)?,
            muted_by: row.get(4)?,
            created_at: row.get(5)?,
            expires_at: Some(row.get::<i64>(6)?).filter(|end| *end != ENDLESS),
        })
    }
}

impl Muted {
    pub(super) fn new(ends: HashMap<Uuid, i64>, count: Gauge) -> Muted {
        count.set(ends.len() as f64);
        Muted { ends: RwLock::new(ends), count }
    }

    /// Removes a player, after the change was stored.
    pub(super) fn remove(&self, user: Uuid) {
        self.change(|ends| ends.remove(&user));
    }

    fn insert(&self, user: Uuid, end: i64) {
        self.change(|ends| ends.insert(user, end));
    }

    fn end_of(&self, user: Uuid) -> Option<i64> {
        self.ends.read().unwrap_or_else(PoisonError::into_inner).get(&user).copied()
    }

    /// Rejects one more muted player than fit. Mutes that have ended make place.
    pub(super) fn check_place(&self, user: Uuid, now: i64) -> Result<(), ServiceError> {
        let is_full = |ends: &mut HashMap<Uuid, i64>| ends.len() >= MUTED_MAX && !ends.contains_key(&user);
        let is_full = self.change(|ends| {
            if is_full(ends) {
                ends.retain(|_, end| *end > now);
            }
            is_full(ends)
        });
        match is_full {
            false => Ok(()),
            true => Err(ServiceError::with(
                GrpcCode::ResourceExhausted,
                format!("{MUTED_MAX} players are muted, which is the limit. Unmute or ban some first."),
            )),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut HashMap<Uuid, i64>) -> T) -> T {
        let mut ends = self.ends.write().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut ends);
        self.count.set(ends.len() as f64);
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aether_metrics::Registry;

    #[test]
    fn ended_mutes_make_place_for_new_ones() {
        let ends = (0..MUTED_MAX).map(|number| (Uuid::from_u128(number as u128), 10)).collect();
        let muted = Muted::new(ends, Registry::new().gauge("muted", "", &[]));
        let new = Uuid::from_u128(u128::MAX);
        assert_eq!(muted.check_place(new, 9).unwrap_err().code, GrpcCode::ResourceExhausted);
        assert!(muted.check_place(Uuid::from_u128(0), 9).is_ok(), "a muted player takes no new place");
        assert!(muted.check_place(new, 10).is_ok());
        assert!(muted.ends.read().unwrap().is_empty());
    }
}
