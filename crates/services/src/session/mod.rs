//! Sessions: issuing, refreshing and revoking tokens.
//!
//! Signing in writes nothing: a pair of tokens is signed, and the history is written in batches a moment later. What
//! must not be lost is written before the answer: the use of a refresh token, and the end of a session.

mod handlers;
mod history;
pub mod keys;
mod match_tokens;
mod refresh;
mod revocations;
mod roles;
pub(crate) mod serve;
pub mod tokens;
mod verified;

pub use handlers::{ReportedSession, SessionHandler, SessionHandlers};
pub use history::{HISTORY_MAX, SessionRecord, SessionState};
pub use match_tokens::{MATCH_TOKEN_SECONDS, MatchTokens};
pub use revocations::Revocations;
pub use roles::Roles;

use crate::account::for_presence;
use crate::caller::UserIdentity;
use crate::clock::{WallClock, new_id};
use crate::error::{GrpcCode, ServiceError, TOKEN_INVALID};
use aether_store::{Store, StoreError, Transaction, values};
use history::{History, PendingRevocation};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use tokens::{Claims, Role, TokenError, TokenKind, Tokens, VALID_SECONDS_MAX, VerifiedToken};
use uuid::Uuid;
use verified::VerifiedTokens;

/// Maximum number of session variables, and maximum bytes of all of them together. Every token carries them.
const VARIABLES_MAX: usize = 32;
const VARIABLES_BYTES_MAX: usize = 1_024;

const NO_ACCOUNT: ServiceError =
    ServiceError::new(GrpcCode::Unauthenticated, "Guests and development tokens have no account here. Sign in first.");

/// Settings of sessions.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Lifetime of an access token.
    pub access_seconds: u32,
    /// Lifetime of a refresh token.
    pub refresh_seconds: u32,
    /// Time within which a refresh token may be used again, by a client that lost the answer.
    pub refresh_again_seconds: u32,
    /// True if a new session of a user ends the others.
    pub single: bool,
}

/// Starts, refreshes, checks and ends sessions.
pub struct Sessions {
    store: Store,
    tokens: Arc<Tokens>,
    clock: Arc<dyn WallClock>,
    settings: Settings,
    revocations: Arc<Revocations>,
    roles: Arc<Roles>,
    history: History,
    verified: VerifiedTokens,
}

/// Tokens of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenPair {
    /// Access token.
    pub access: String,
    /// Refresh token.
    pub refresh: String,
}

/// Session to start.
#[derive(Clone, Debug)]
pub struct NewSession<'a> {
    /// User of the session.
    pub user: Uuid,
    /// Username.
    pub username: &'a str,
    /// Session variables.
    pub variables: BTreeMap<String, String>,
    /// Address of the client.
    pub address: Option<IpAddr>,
    /// Sign-in method, such as `device`.
    pub method: &'static str,
}

impl Sessions {
    /// Opens the service, and loads revoked sessions and roles.
    pub async fn open(
        store: Store,
        tokens: Arc<Tokens>,
        clock: Arc<dyn WallClock>,
        settings: Settings,
    ) -> Result<Sessions, StoreError> {
        let (revocations, roles) = (Arc::new(Revocations::default()), Arc::new(Roles::default()));
        let (history, verified) = (History::default(), VerifiedTokens::default());
        let sessions = Sessions { store, tokens, clock, settings, revocations, roles, history, verified };
        sessions.load().await?;
        sessions.load_roles().await?;
        Ok(sessions)
    }

    /// Returns true if a new session ends the others of its user.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.settings.single
    }

    /// Starts a session.
    pub async fn start(&self, new_session: NewSession<'_>) -> Result<TokenPair, ServiceError> {
        let expires_at = self.clock.now_seconds() as u64 + u64::from(self.settings.refresh_seconds);
        Ok(self.pair(self.begin(new_session, expires_at).await?))
    }

    /// Starts a session of one access token, for server code. It expires at the given time, in seconds since 1970, or after
    /// the usual time. Returns the token and its expiry.
    pub async fn issue(
        &self,
        new_session: NewSession<'_>,
        expires_at: Option<u64>,
    ) -> Result<(String, u64), ServiceError> {
        let now = self.clock.now_seconds() as u64;
        let expires_at = expires_at.unwrap_or(now + u64::from(self.settings.access_seconds));
        if !(now + 1..=now + VALID_SECONDS_MAX).contains(&expires_at) {
            return Err(ServiceError::invalid(format!(
                "The expiry {expires_at} must be after the present ({now}), by at most {VALID_SECONDS_MAX} seconds."
            )));
        }
        let claims = self.begin(new_session, expires_at).await?;
        Ok((self.tokens.sign(&Claims { expires_at, kind: TokenKind::Access, ..claims }), expires_at))
    }

    /// Notes a new session, and returns its claims, as of a refresh token without an expiry.
    async fn begin(&self, new_session: NewSession<'_>, expires_at: u64) -> Result<Claims, ServiceError> {
        check_variables(&new_session.variables)?;
        if self.settings.single {
            self.revoke_user(new_session.user, "another session was started").await?;
        }
        let now = self.clock.now_ms();
        // Token times have whole seconds. After all sessions of a user were ended, a new one is issued in a later
        // second, so that it is not taken for an ended one.
        let not_before = self.revocations.valid_from(new_session.user).map_or(0, |valid_from| valid_from + 1);
        let issued_at = (now / 1_000).max(not_before) as u64;
        let session = new_id(now);
        self.history.note_start(session, &new_session, now, i64::try_from(expires_at * 1_000).unwrap_or(i64::MAX));
        let NewSession { user, username, variables, .. } = new_session;
        Ok(Claims {
            session,
            user,
            name: username.to_owned(),
            variables,
            issued_at,
            expires_at: 0,
            role: None,
            account_role: self.roles.of(user),
            kind: TokenKind::Refresh(0),
        })
    }

    /// Verifies an access token, and keeps its identity for the next time.
    fn verify(&self, token: &str, now: u64) -> Result<UserIdentity, ServiceError> {
        let verified = self.tokens.verify(token, now, false).map_err(|error| match error {
            TokenError::DevelopmentKey => NO_ACCOUNT,
            _ => TOKEN_INVALID,
        })?;
        if verified.is_guest {
            return Err(NO_ACCOUNT);
        }
        let identity = identity_of(verified).ok_or(TOKEN_INVALID)?;
        self.verified.add(token, &identity);
        Ok(identity)
    }

    /// Returns the identity in an access token. Guests and development tokens have no account and are rejected.
    pub fn check(&self, token: &str) -> Result<UserIdentity, ServiceError> {
        let now = self.clock.now_seconds() as u64;
        let identity = match self.verified.find(token, now) {
            Some(identity) => identity,
            None => self.verify(token, now)?,
        };
        let identity = UserIdentity { role: self.roles.of(identity.user), ..identity };
        match self.revocations.is_ended(identity.session, identity.user, identity.issued_at) {
            true => Err(TOKEN_INVALID),
            false => Ok(identity),
        }
    }

    /// Ends the sessions of the given tokens, or all sessions of the user if both are empty.
    pub async fn log_out(&self, user: Uuid, access: &str, refresh: &str) -> Result<(), ServiceError> {
        if access.is_empty() && refresh.is_empty() {
            return self.revoke_user(user, "logged out everywhere").await;
        }
        let now = self.clock.now_seconds() as u64;
        let named = [
            (access, "Session token invalid.", self.tokens.verify(access, now, false)),
            (refresh, "Refresh token invalid.", self.tokens.verify_refresh(refresh, now).map(|(identity, _)| identity)),
        ];
        for (token, message, verified) in named {
            if token.is_empty() {
                continue;
            }
            let identity = verified.ok().and_then(identity_of).filter(|identity| identity.user == user);
            let identity = identity.ok_or(ServiceError::new(GrpcCode::InvalidArgument, message))?;
            self.revoke(identity.session, user, "logged out").await?;
        }
        Ok(())
    }

    /// Revokes a session. The revocation is stored as long as any token of the session could be valid, also one that was
    /// issued under other settings.
    pub async fn revoke(&self, session: Uuid, user: Uuid, reason: &'static str) -> Result<(), ServiceError> {
        let now = self.clock.now_ms();
        let expires_at = now.saturating_add_unsigned(VALID_SECONDS_MAX * 1_000);
        let revocations = Arc::clone(&self.revocations);
        let operation = move |transaction: &mut Transaction<'_>| {
            end_session(transaction, (session, user), now, expires_at, reason)?;
            let revocations = Arc::clone(&revocations);
            transaction.after_commit(move || revocations.end_session(session, expires_at / 1_000));
            Ok(())
        };
        self.store.write(operation).await
    }

    /// Revokes a session at once, even if the database does not answer: [`Sessions::flush`] then stores the revocation
    /// later. An error says that it is not stored yet.
    pub async fn revoke_at_once(&self, session: Uuid, user: Uuid, reason: &'static str) -> Result<(), ServiceError> {
        let forget_at = self.clock.now_seconds().saturating_add_unsigned(VALID_SECONDS_MAX);
        self.history.note_revocation(session, PendingRevocation { user, reason });
        self.revocations.end_session(session, forget_at);
        self.revoke(session, user, reason).await?;
        self.history.revocation_is_stored(session);
        Ok(())
    }

    /// Revokes all current sessions of a user.
    pub async fn revoke_user(&self, user: Uuid, reason: &'static str) -> Result<(), ServiceError> {
        let now = self.clock.now_ms();
        let forget_at = (now / 1_000).saturating_add_unsigned(VALID_SECONDS_MAX);
        let revocations = Arc::clone(&self.revocations);
        let operation = move |transaction: &mut Transaction<'_>| {
            end_sessions_of(transaction, user, now, reason)?;
            let revocations = Arc::clone(&revocations);
            transaction.after_commit(move || revocations.end_user(user, now / 1_000, forget_at));
            Ok(())
        };
        self.store.write(operation).await
    }

    /// Returns the revoked sessions, for connections to check.
    #[must_use]
    pub fn revocations(&self) -> &Arc<Revocations> {
        &self.revocations
    }

    /// Returns the roles of accounts, for connections to check.
    #[must_use]
    pub fn roles(&self) -> &Arc<Roles> {
        &self.roles
    }

    /// Signs the tokens of a session. Claims are those of the refresh token, except for the expiry.
    fn pair(&self, claims: Claims) -> TokenPair {
        let now = self.clock.now_seconds() as u64;
        let refresh = Claims { expires_at: now + u64::from(self.settings.refresh_seconds), ..claims };
        let access = Claims {
            expires_at: now + u64::from(self.settings.access_seconds),
            kind: TokenKind::Access,
            ..refresh.clone()
        };
        TokenPair { access: self.tokens.sign(&access), refresh: self.tokens.sign(&refresh) }
    }

    async fn load_roles(&self) -> Result<(), StoreError> {
        let select = "SELECT id, role FROM users WHERE role <> 'player'";
        let given = self.store.read(move |transaction| {
            transaction.rows(select, &[], |row| Ok((row.get::<Uuid>(0)?, row.get::<String>(1)?)))
        });
        for (user, role) in given.await? {
            // An unknown role allows nothing.
            self.roles.set(user, role.parse::<Role>().unwrap_or_default());
        }
        Ok(())
    }

    async fn load(&self) -> Result<(), StoreError> {
        let now = self.clock.now_ms();
        // The maximum lifetime of any token, because the settings may have been different before.
        let oldest = now.saturating_sub_unsigned(VALID_SECONDS_MAX * 1_000);
        let (sessions, users, erased) = self
            .store
            .read(move |transaction| {
                let ended = "SELECT id, revoked_at FROM sessions
                    WHERE revoked_at IS NOT NULL AND expires_at > ?1 AND revoked_at > ?1";
                let sessions = transaction.rows(ended, values![oldest], |row| Ok((row.get(0)?, row.get::<i64>(1)?)))?;
                let users = "SELECT id, sessions_valid_from, session_kept FROM users WHERE sessions_valid_from > 0
                    AND sessions_valid_from > ?1";
                let users = transaction.rows(users, values![oldest], |row| {
                    Ok((row.get(0)?, row.get::<i64>(1)?, row.get::<Option<Uuid>>(2)?))
                })?;
                let erased = "SELECT user_id, erased_at FROM erasures WHERE erased_at > ?1";
                let erased = transaction.rows(erased, values![oldest], |row| Ok((row.get(0)?, row.get::<i64>(1)?)))?;
                Ok::<_, StoreError>((sessions, users, erased))
            })
            .await?;
        for (session, revoked_at) in sessions {
            let forget_at = (revoked_at / 1_000).saturating_add_unsigned(VALID_SECONDS_MAX);
            self.revocations.end_session(session, forget_at);
        }
        for (user, valid_from, kept) in users {
            let valid_from = valid_from / 1_000;
            let forget_at = valid_from.saturating_add_unsigned(VALID_SECONDS_MAX);
            match kept {
                Some(kept) => self.revocations.end_other_sessions(user, kept, valid_from, forget_at),
                None => self.revocations.end_user(user, valid_from, forget_at),
            }
        }
        for (user, erased_at) in erased {
            self.revocations.erase_user(user, erased_at.div_euclid(1_000));
        }
        Ok(())
    }
}

/// Maximum number of sessions whose history says when and why all sessions of a user ended: the newest ones. Older ones end
/// too, by `sessions_valid_from`. An account can have started millions, and the others wait for this write.
const SESSIONS_CLOSED_MAX: i64 = 1_000;

/// Ends all sessions of a user within a larger transaction, such as a ban. The caller also calls
/// [`Revocations::end_user`] after the commit.
pub fn end_sessions_of(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    now: i64,
    reason: &str,
) -> Result<(), StoreError> {
    end_sessions_but(transaction, (user, None), now, reason)
}

/// Ends all sessions of a user but one within a larger transaction. The caller also calls
/// [`Revocations::end_other_sessions`] after the commit.
pub fn end_other_sessions_of(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    kept: Uuid,
    now: i64,
    reason: &str,
) -> Result<(), StoreError> {
    end_sessions_but(transaction, (user, Some(kept)), now, reason)
}

fn end_sessions_but(
    transaction: &mut Transaction<'_>,
    (user, kept): (Uuid, Option<Uuid>),
    now: i64,
    reason: &str,
) -> Result<(), StoreError> {
    // Like [`Revocations::end_user`]: sessions started within the second of the last end have the second after it.
    let end = "UPDATE users SET session_kept = ?4, sessions_valid_from =
            CASE WHEN sessions_valid_from >= ?3 THEN sessions_valid_from + 1000 ELSE ?2 END
        WHERE id = ?1";
    transaction.execute(end, values![user, now, now - now.rem_euclid(1_000), kept])?;
    let close = "UPDATE sessions SET revoked_at = ?2, state = 'closed', reason = ?3
        WHERE id IN (SELECT id FROM sessions WHERE user_id = ?1 ORDER BY created_at DESC LIMIT ?4)
            AND revoked_at IS NULL AND expires_at > ?2 AND id <> ?5";
    // No session has the id of zeros.
    transaction.execute(close, values![user, now, reason, SESSIONS_CLOSED_MAX, kept.unwrap_or_default()])?;
    Ok(())
}

/// Rejects variables that are too large for a session. [`Sessions::start`] checks too; a caller that writes something
/// before checks first.
pub fn check_variables(variables: &BTreeMap<String, String>) -> Result<(), ServiceError> {
    // The limit applies to the encoded form: a token over its size limit would be rejected.
    if variables.len() > VARIABLES_MAX || tokens::plain_json(variables).len() > VARIABLES_BYTES_MAX {
        let message = "Session variables are too large: at most 32, with 1024 bytes of JSON together.";
        return Err(ServiceError::new(GrpcCode::InvalidArgument, message));
    }
    Ok(())
}

fn end_session(
    transaction: &mut Transaction<'_>,
    (session, user): (Uuid, Uuid),
    now: i64,
    expires_at: i64,
    reason: &str,
) -> Result<(), StoreError> {
    // Waits for an erasure in progress; the next statement then sees it. A user without an account may have sessions
    // too, and they end like all others.
    let wait = format!("SELECT 1 FROM users WHERE id = ?1{}", for_presence(transaction.dialect()));
    transaction.row(&wait, values![user], |_| Ok(()))?;
    let upsert = "INSERT INTO sessions
            (id, user_id, state, created_at, refreshed_at, last_seen_at, expires_at, revoked_at, reason)
        SELECT ?1, ?2, 'closed', ?3, ?3, ?3, ?4, ?3, ?5 WHERE NOT EXISTS (SELECT 1 FROM erasures WHERE user_id = ?2)
        ON CONFLICT (id) DO UPDATE SET state = 'closed', revoked_at = excluded.revoked_at, reason = excluded.reason,
            expires_at = excluded.expires_at
        WHERE sessions.revoked_at IS NULL";
    transaction.execute(upsert, values![session, user, now, expires_at, reason]).map(|_| ())
}

fn identity_of(verified: VerifiedToken) -> Option<UserIdentity> {
    Some(UserIdentity {
        user: Uuid::try_parse(&verified.user).ok()?,
        username: verified.name,
        session: Uuid::from_u128(verified.session.0),
        variables: verified.variables,
        role: verified.role,
        issued_at: verified.issued_at,
        expires_at: verified.expires_at,
    })
}
