//! Sessions with live connections, and their revocation.

use aether_net::lobby::{SessionCheck, SessionValidity};
use aether_services::session::tokens::{Role, VALID_SECONDS_MAX};
use aether_services::session::{Revocations, Roles};
use aether_wire::{Permissions, SessionId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Time for which a revocation is stored: as long as any token can be valid.
const REVOKED_FOR: Duration = Duration::from_secs(VALID_SECONDS_MAX);

/// Sessions that have or had a connection, and sessions that were revoked.
#[derive(Default)]
pub struct LiveSessions {
    epoch: AtomicU64,
    known: Mutex<HashMap<SessionId, Session>>,
    settings: LiveSessionSettings,
    /// Revocations by the services: logouts and bans.
    revocations: Arc<Revocations>,
    /// Roles of the accounts.
    roles: Arc<Roles>,
}

/// Settings of live sessions.
#[derive(Clone, Copy, Debug)]
pub struct LiveSessionSettings {
    /// Time after which a session without activity of its connections ends.
    pub idle_max: Duration,
    /// Longest time of a session, even if it is active.
    pub age_max: Duration,
    /// Time between two heartbeats in the history of a session whose client sends messages.
    pub heartbeat: Duration,
}

/// Session whose token was verified.
#[derive(Clone, Copy, Debug)]
pub struct VerifiedSession {
    /// Id of the session.
    pub session: SessionId,
    /// Account or guest.
    pub user: Uuid,
    /// Time at which the token was issued, in seconds since 1970.
    pub issued_at: u64,
    /// Role that a development token grants. The account may have a higher one.
    pub granted: Role,
}

#[derive(Clone, Copy)]
enum Session {
    Open { until: Instant, until_at_most: Instant, verified: VerifiedSession, heartbeat: Heartbeat },
    Revoked { forget_at: Instant },
}

/// Last heartbeat of a session.
#[derive(Clone, Copy)]
struct Heartbeat {
    at: Instant,
    /// True if the client has sent something since.
    is_heard: bool,
}

impl Default for LiveSessionSettings {
    fn default() -> LiveSessionSettings {
        LiveSessionSettings {
            idle_max: Duration::from_secs(3_600),
            age_max: Duration::from_secs(7 * 24 * 3_600),
            heartbeat: Duration::from_secs(60),
        }
    }
}

impl LiveSessions {
    /// Creates live sessions that honor the revocations and the roles of the services.
    #[must_use]
    pub fn new(revocations: Arc<Revocations>, roles: Arc<Roles>, settings: LiveSessionSettings) -> LiveSessions {
        LiveSessions { revocations, roles, settings, ..LiveSessions::default() }
    }

    /// Adds a session whose token was verified.
    pub fn add(&self, verified: VerifiedSession) -> SessionValidity {
        let VerifiedSession { session, user, issued_at, .. } = verified;
        if self.revocations.is_ended(Uuid::from_u128(session.0), user, issued_at) {
            return SessionValidity::Ended;
        }
        let now = Instant::now();
        let LiveSessionSettings { idle_max, age_max, .. } = self.settings;
        let mut known = self.known();
        let heartbeat = Heartbeat { at: now, is_heard: false };
        let (until, until_at_most) = (now + idle_max.min(age_max), now + age_max);
        let fresh = Session::Open { until, until_at_most, verified, heartbeat };
        match known.entry(session).or_insert(fresh) {
            Session::Revoked { .. } => SessionValidity::Ended,
            Session::Open { until, until_at_most, .. } => {
                *until = (now + idle_max).min(*until_at_most);
                if now < *until_at_most { SessionValidity::Valid } else { SessionValidity::Ended }
            }
        }
    }

    /// Returns the role of a user: that of the account, or a higher one that a development token grants.
    #[must_use]
    pub fn role(&self, granted: Role, user: Uuid) -> Role {
        granted.max(self.roles.of(user))
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

    /// Removes expired sessions, and returns those with a due heartbeat. Call it once a second.
    pub fn sweep(&self) -> Vec<SessionId> {
        let now = Instant::now();
        let mut due = Vec::new();
        self.known().retain(|id, session| match session {
            Session::Open { until, heartbeat, .. } => {
                if heartbeat.is_heard && now >= heartbeat.at + self.settings.heartbeat {
                    *heartbeat = Heartbeat { at: now, is_heard: false };
                    due.push(*id);
                }
                now < *until
            }
            Session::Revoked { forget_at } => now < *forget_at,
        });
        due
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Session>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionCheck for LiveSessions {
    fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire).wrapping_add(self.revocations.epoch()).wrapping_add(self.roles.epoch())
    }

    fn validity(&self, session: SessionId, is_active: bool) -> SessionValidity {
        let now = Instant::now();
        match self.known().get_mut(&session) {
            Some(Session::Open { until, until_at_most, verified, heartbeat }) if now < *until => {
                if self.revocations.is_ended(Uuid::from_u128(session.0), verified.user, verified.issued_at) {
                    return SessionValidity::Ended;
                }
                heartbeat.is_heard |= is_active;
                if is_active {
                    *until = (now + self.settings.idle_max).min(*until_at_most);
                }
                SessionValidity::Valid
            }
            _ => SessionValidity::Ended,
        }
    }

    fn permissions(&self, session: SessionId) -> Permissions {
        match self.known().get(&session) {
            Some(Session::Open { verified, .. }) => self.role(verified.granted, verified.user).permissions(),
            _ => Permissions::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verified(session: SessionId, user: Uuid, issued_at: u64) -> VerifiedSession {
        VerifiedSession { session, user, issued_at, granted: Role::Player }
    }

    #[test]
    fn a_revoked_session_is_ended_and_the_epoch_changes() {
        let sessions = LiveSessions::default();
        let (mine, other) = (SessionId(1), SessionId(2));
        assert_eq!(sessions.add(verified(mine, Uuid::nil(), 1)), SessionValidity::Valid);
        assert_eq!(sessions.add(verified(other, Uuid::nil(), 1)), SessionValidity::Valid);
        let before = sessions.epoch();
        sessions.revoke(mine);
        assert_ne!(sessions.epoch(), before);
        assert_eq!(sessions.validity(mine, true), SessionValidity::Ended);
        assert_eq!(sessions.add(verified(mine, Uuid::nil(), 1)), SessionValidity::Ended, "it cannot be used again");
        assert_eq!(sessions.validity(other, true), SessionValidity::Valid);
    }

    #[test]
    fn revocations_of_the_services_end_sessions_and_change_the_epoch() {
        let revocations = Arc::new(Revocations::default());
        let sessions = LiveSessions::new(Arc::clone(&revocations), Arc::default(), LiveSessionSettings::default());
        let (mine, other, user) = (SessionId(1), SessionId(2), Uuid::from_u128(7));
        assert_eq!(sessions.add(verified(mine, user, 100)), SessionValidity::Valid);
        assert_eq!(sessions.add(verified(other, user, 102)), SessionValidity::Valid);
        let before = sessions.epoch();
        revocations.end_user(user, 101, 1_000);
        assert_ne!(sessions.epoch(), before);
        assert_eq!(sessions.validity(mine, true), SessionValidity::Ended);
        assert_eq!(sessions.validity(other, true), SessionValidity::Valid, "it was started later");
        revocations.end_session(Uuid::from_u128(2), 1_000);
        assert_eq!(sessions.validity(other, true), SessionValidity::Ended);
        assert_eq!(sessions.add(verified(other, user, 102)), SessionValidity::Ended);
    }

    #[test]
    fn an_unknown_session_is_not_valid() {
        assert_eq!(LiveSessions::default().validity(SessionId(9), true), SessionValidity::Ended);
    }
}
