//! Sessions with live connections, and their revocation.

use aether_net::lobby::{SessionCheck, SessionValidity};
use aether_services::session::Revocations;
use aether_services::session::tokens::VALID_SECONDS_MAX;
use aether_wire::SessionId;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Time after which a session without activity of its connections ends.
const WINDOW: Duration = Duration::from_secs(3_600);
/// Longest time of a session, even if it is active.
const AGE_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);
/// Time for which a revocation is stored: as long as any token can be valid.
const REVOKED_FOR: Duration = Duration::from_secs(VALID_SECONDS_MAX);

/// Sessions that have or had a connection, and sessions that were revoked.
#[derive(Default)]
pub struct LiveSessions {
    epoch: AtomicU64,
    known: Mutex<HashMap<SessionId, Session>>,
    /// Revocations by the services: logouts and bans.
    revocations: Arc<Revocations>,
}

#[derive(Clone, Copy)]
enum Session {
    Open { until: Instant, until_at_most: Instant, user: Uuid, issued_at: u64 },
    Revoked { forget_at: Instant },
}

impl LiveSessions {
    /// Creates live sessions that honor the revocations of the services.
    #[must_use]
    pub fn new(revocations: Arc<Revocations>) -> LiveSessions {
        LiveSessions { revocations, ..LiveSessions::default() }
    }

    /// Adds a session whose token was verified. `issued_at` is the time at which the token was issued.
    pub fn add(&self, session: SessionId, user: Uuid, issued_at: u64) -> SessionValidity {
        if self.revocations.is_ended(Uuid::from_u128(session.0), user, issued_at) {
            return SessionValidity::Ended;
        }
        let now = Instant::now();
        let mut known = self.known();
        let fresh = Session::Open { until: now + WINDOW, until_at_most: now + AGE_MAX, user, issued_at };
        match known.entry(session).or_insert(fresh) {
            Session::Revoked { .. } => SessionValidity::Ended,
            Session::Open { until, until_at_most, .. } => {
                *until = (now + WINDOW).min(*until_at_most);
                if now < *until_at_most { SessionValidity::Valid } else { SessionValidity::Ended }
            }
        }
    }

    /// Revokes a session: its connections are closed, and it cannot be used again.
    pub fn revoke(&self, session: SessionId) {
        self.known().insert(session, Session::Revoked { forget_at: Instant::now() + REVOKED_FOR });
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// Number of open sessions.
    #[must_use]
    pub fn open(&self) -> usize {
        self.known().values().filter(|session| matches!(session, Session::Open { .. })).count()
    }

    /// Removes expired sessions. Call it once a second.
    pub fn sweep(&self) {
        let now = Instant::now();
        self.known().retain(|_, session| match session {
            Session::Open { until, .. } => now < *until,
            Session::Revoked { forget_at } => now < *forget_at,
        });
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Session>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionCheck for LiveSessions {
    fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire).wrapping_add(self.revocations.epoch())
    }

    fn validity(&self, session: SessionId, is_active: bool) -> SessionValidity {
        let now = Instant::now();
        match self.known().get_mut(&session) {
            Some(Session::Open { until, until_at_most, user, issued_at }) if now < *until => {
                if self.revocations.is_ended(Uuid::from_u128(session.0), *user, *issued_at) {
                    return SessionValidity::Ended;
                }
                if is_active {
                    *until = (now + WINDOW).min(*until_at_most);
                }
                SessionValidity::Valid
            }
            _ => SessionValidity::Ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revoked_session_is_ended_and_the_epoch_changes() {
        let sessions = LiveSessions::default();
        let (mine, other) = (SessionId(1), SessionId(2));
        assert_eq!(sessions.add(mine, Uuid::nil(), 1), SessionValidity::Valid);
        assert_eq!(sessions.add(other, Uuid::nil(), 1), SessionValidity::Valid);
        let before = sessions.epoch();
        sessions.revoke(mine);
        assert_ne!(sessions.epoch(), before);
        assert_eq!(sessions.validity(mine, true), SessionValidity::Ended);
        assert_eq!(sessions.add(mine, Uuid::nil(), 1), SessionValidity::Ended, "it cannot be used again");
        assert_eq!(sessions.validity(other, true), SessionValidity::Valid);
    }

    #[test]
    fn revocations_of_the_services_end_sessions_and_change_the_epoch() {
        let revocations = Arc::new(Revocations::default());
        let sessions = LiveSessions::new(Arc::clone(&revocations));
        let (mine, other, user) = (SessionId(1), SessionId(2), Uuid::from_u128(7));
        assert_eq!(sessions.add(mine, user, 100), SessionValidity::Valid);
        assert_eq!(sessions.add(other, user, 102), SessionValidity::Valid);
        let before = sessions.epoch();
        revocations.end_user(user, 101, 1_000);
        assert_ne!(sessions.epoch(), before);
        assert_eq!(sessions.validity(mine, true), SessionValidity::Ended);
        assert_eq!(sessions.validity(other, true), SessionValidity::Valid, "it was started later");
        revocations.end_session(Uuid::from_u128(2), 1_000);
        assert_eq!(sessions.validity(other, true), SessionValidity::Ended);
        assert_eq!(sessions.add(other, user, 102), SessionValidity::Ended);
    }

    #[test]
    fn an_unknown_session_is_not_valid() {
        assert_eq!(LiveSessions::default().validity(SessionId(9), true), SessionValidity::Ended);
    }
}
