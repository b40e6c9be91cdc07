//! Sessions that were revoked before their tokens expire. Held in memory for fast checks, and stored in the database
//! for the next start.

use super::tokens::VALID_SECONDS_MAX;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use uuid::Uuid;

/// Revoked sessions. Times are in seconds since 1970.
#[derive(Debug, Default)]
pub struct Revocations {
    epoch: AtomicU64,
    ended: RwLock<Ended>,
}

#[derive(Debug, Default)]
struct Ended {
    /// Time at which each session can be forgotten, because its tokens have expired.
    sessions: HashMap<Uuid, i64>,
    users: HashMap<Uuid, EndedUser>,
}

/// End of the sessions of a user.
#[derive(Clone, Copy, Debug)]
struct EndedUser {
    /// Tokens issued up to this time are invalid.
    valid_from: i64,
    /// Time at which this can be forgotten.
    forget_at: i64,
    /// Session that goes on.
    kept: Option<Uuid>,
}

impl Revocations {
    /// Returns a number that changes with every revocation.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Returns true if a session was revoked, by its id, its user and the issue time of its token.
    #[must_use]
    pub fn is_ended(&self, session: Uuid, user: Uuid, issued_at: u64) -> bool {
        let ended = self.ended.read().unwrap_or_else(PoisonError::into_inner);
        let all_ended =
            ended.users.get(&user).is_some_and(|end| issued_at as i64 <= end.valid_from && end.kept != Some(session));
        all_ended || ended.sessions.contains_key(&session)
    }

    /// Revokes a session.
    pub fn end_session(&self, session: Uuid, forget_at: i64) {
        self.ended.write().unwrap_or_else(PoisonError::into_inner).sessions.insert(session, forget_at);
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// Revokes all sessions of a user up to a time.
    pub fn end_user(&self, user: Uuid, valid_from: i64, forget_at: i64) {
        self.end(user, EndedUser { valid_from, forget_at, kept: None });
    }

    /// Revokes all sessions of a user up to a time, except one.
    pub fn end_other_sessions(&self, user: Uuid, kept: Uuid, valid_from: i64, forget_at: i64) {
        self.end(user, EndedUser { valid_from, forget_at, kept: Some(kept) });
    }

    fn end(&self, user: Uuid, EndedUser { valid_from, forget_at, kept }: EndedUser) {
        let mut ended = self.ended.write().unwrap_or_else(PoisonError::into_inner);
        let known = ended.users.get(&user).copied();
        // Sessions started within the second of the last end were issued in the second after it.
        let valid_from = known.map_or(valid_from, |known| valid_from.max(known.valid_from + 1));
        let forget_at = known.map_or(forget_at, |known| forget_at.max(known.forget_at));
        ended.users.insert(user, EndedUser { valid_from, forget_at, kept });
        drop(ended);
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// Revokes all sessions of an erased account, including those about to start: the id is never reused.
    pub fn erase_user(&self, user: Uuid, erased_at: i64) {
        let forget_at = erased_at.saturating_add_unsigned(VALID_SECONDS_MAX);
        self.end_user(user, forget_at, forget_at);
    }

    /// Returns the time up to which tokens of a user are invalid, if any.
    pub(super) fn valid_from(&self, user: Uuid) -> Option<i64> {
        let ended = self.ended.read().unwrap_or_else(PoisonError::into_inner);
        ended.users.get(&user).map(|end| end.valid_from)
    }

    /// Forgets revocations whose tokens have expired.
    pub fn sweep(&self, now: i64) {
        let mut ended = self.ended.write().unwrap_or_else(PoisonError::into_inner);
        ended.sessions.retain(|_, forget_at| *forget_at > now);
        ended.users.retain(|_, end| end.forget_at > now);
    }
}
