//! Which sessions were ended before their tokens expire. Kept in memory, so that asking costs nothing; the database has
//! the same, for the next start.

use super::tokens::VALID_SECONDS_MAX;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use uuid::Uuid;

/// The sessions that were ended. Times are in seconds since 1970.
#[derive(Debug, Default)]
pub struct Revocations {
    epoch: AtomicU64,
    ended: RwLock<Ended>,
}

#[derive(Debug, Default)]
struct Ended {
    /// When each can be forgotten: no token names it any more.
    sessions: HashMap<Uuid, i64>,
    /// Tokens of a user that were issued up to a time no longer count, and when that can be forgotten.
    users: HashMap<Uuid, (i64, i64)>,
}

impl Revocations {
    /// Changes whenever something was ended.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Whether a session was ended, by its id, its user and the time its token was issued.
    #[must_use]
    pub fn is_ended(&self, session: Uuid, user: Uuid, issued_at: u64) -> bool {
        let ended = self.ended.read().unwrap_or_else(PoisonError::into_inner);
        let all_ended = ended.users.get(&user).is_some_and(|(valid_from, _)| issued_at as i64 <= *valid_from);
        all_ended || ended.sessions.contains_key(&session)
    }

    /// Ends a session.
    pub fn end_session(&self, session: Uuid, forget_at: i64) {
        self.ended.write().unwrap_or_else(PoisonError::into_inner).sessions.insert(session, forget_at);
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// Ends all sessions of a user up to a time.
    pub fn end_user(&self, user: Uuid, valid_from: i64, forget_at: i64) {
        let mut ended = self.ended.write().unwrap_or_else(PoisonError::into_inner);
        let known = ended.users.get(&user).copied();
        // Sessions that began since the last end, within its second, were given the second after it.
        let valid_from = known.map_or(valid_from, |(known, _)| valid_from.max(known + 1));
        let forget_at = known.map_or(forget_at, |(_, known)| forget_at.max(known));
        ended.users.insert(user, (valid_from, forget_at));
        drop(ended);
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// Ends all sessions of a user whose account was erased, also those that were just about to begin: the id is never
    /// given again.
    pub fn erase_user(&self, user: Uuid, erased_at: i64) {
        let forget_at = erased_at.saturating_add_unsigned(VALID_SECONDS_MAX);
        self.end_user(user, forget_at, forget_at);
    }

    /// Up to when tokens of a user no longer count, if there is such a time.
    pub(super) fn valid_from(&self, user: Uuid) -> Option<i64> {
        let ended = self.ended.read().unwrap_or_else(PoisonError::into_inner);
        ended.users.get(&user).map(|(valid_from, _)| *valid_from)
    }

    /// Forgets what no token names any more.
    pub fn sweep(&self, now: i64) {
        let mut ended = self.ended.write().unwrap_or_else(PoisonError::into_inner);
        ended.sessions.retain(|_, forget_at| *forget_at > now);
        ended.users.retain(|_, (_, forget_at)| *forget_at > now);
    }
}
