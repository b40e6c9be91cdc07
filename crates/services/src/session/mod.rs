//! Sessions: tokens, their renewal, and their end.
//!
//! Signing in writes nothing: a pair of tokens is signed, and the history follows a moment later, many at once. What
//! must not be lost is written before it is answered: that a refresh token was used, and that a session was ended.

mod history;
pub mod keys;
mod refresh;
mod revocations;
pub(crate) mod serve;
pub mod tokens;

pub use history::{HISTORY_MAX, SessionRecord, SessionState};
pub use revocations::Revocations;

use crate::account::for_presence;
use crate::caller::UserIdentity;
use crate::clock::{WallClock, new_id};
use crate::error::{GrpcCode, ServiceError, TOKEN_INVALID};
use aether_store::{Store, StoreError, Transaction, values};
use history::History;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use tokens::{Claims, TokenError, TokenKind, Tokens, VALID_SECONDS_MAX, VerifiedToken};
use uuid::Uuid;

/// Variables of a session, and bytes of all of them together: they travel in every token.
const VARIABLES_MAX: usize = 32;
const VARIABLES_BYTES_MAX: usize = 1_024;

const NO_ACCOUNT: ServiceError =
    ServiceError::new(GrpcCode::Unauthenticated, "Guests and development tokens have no account here. Sign in first.");

/// How sessions are to be.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long an access token can be used.
    pub access_seconds: u32,
    /// How long a refresh token can be used.
    pub refresh_seconds: u32,
    /// For how long a refresh token may be used once more, by a client to which the answer did not come through.
    pub refresh_again_seconds: u32,
    /// Whether a new session of a user ends the others.
    pub single: bool,
}

/// Starts, renews, checks and ends sessions.
pub struct Sessions {
    store: Store,
    tokens: Arc<Tokens>,
    clock: Arc<dyn WallClock>,
    settings: Settings,
    revocations: Arc<Revocations>,
    history: History,
}

/// The tokens of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenPair {
    /// To use the server.
    pub access: String,
    /// To get new tokens.
    pub refresh: String,
}

/// A session that is about to start.
#[derive(Clone, Debug)]
pub struct NewSession<'a> {
    /// Whose it is.
    pub user: Uuid,
    /// Their name.
    pub username: &'a str,
    /// Variables that it is to carry.
    pub variables: BTreeMap<String, String>,
    /// Where they are.
    pub address: Option<IpAddr>,
    /// How they signed in, such as `device`.
    pub method: &'static str,
}

impl Sessions {
    /// Reads which sessions were ended before.
    pub async fn open(
        store: Store,
        tokens: Arc<Tokens>,
        clock: Arc<dyn WallClock>,
        settings: Settings,
    ) -> Result<Sessions, StoreError> {
        let revocations = Arc::new(Revocations::default());
        let sessions = Sessions { store, tokens, clock, settings, revocations, history: History::default() };
        sessions.load().await?;
        Ok(sessions)
    }

    /// Starts a session.
    pub async fn start(&self, beginning: NewSession<'_>) -> Result<TokenPair, ServiceError> {
        check_variables(&beginning.variables)?;
        if self.settings.single {
            self.revoke_user(beginning.user, "another session was started").await?;
        }
        let now = self.clock.now_ms();
        // After all sessions of a user were ended, the next one is told apart from them by the second of its beginning.
        let not_before = self.revocations.valid_from(beginning.user).map_or(0, |valid_from| valid_from + 1);
        let issued_at = (now / 1_000).max(not_before) as u64;
        let session = new_id(now);
        self.history.note_start(session, &beginning, now, now + i64::from(self.settings.refresh_seconds) * 1_000);
        let NewSession { user, username, variables, .. } = beginning;
        Ok(self.pair(Claims {
            session,
            user,
            name: username.to_owned(),
            variables,
            issued_at,
            expires_at: 0,
            role: None,
            kind: TokenKind::Refresh(0),
        }))
    }

    /// Who someone is, by an access token. Whoever has no account, such as a guest, is nobody here.
    pub fn check(&self, token: &str) -> Result<UserIdentity, ServiceError> {
        let now = self.clock.now_seconds() as u64;
        let verified = self.tokens.verify(token, now, false).map_err(|error| match error {
            TokenError::DevelopmentKey => NO_ACCOUNT,
            _ => TOKEN_INVALID,
        })?;
        if verified.is_guest {
            return Err(NO_ACCOUNT);
        }
        let identity = identity_of(verified).ok_or(TOKEN_INVALID)?;
        match self.revocations.is_ended(identity.session, identity.user, identity.issued_at) {
            true => Err(TOKEN_INVALID),
            false => Ok(identity),
        }
    }

    /// Ends the sessions that tokens name; without any, all sessions of the user.
    pub async fn log_out(&self, user: Uuid, access: &str, refresh: &str) -> Result<(), ServiceError> {
        if access.is_empty() && refresh.is_empty() {
            return self.revoke_user(user, "logged out everywhere").await;
        }
        let now = self.clock.now_seconds() as u64;
        let named = [
            (access, "Session token invalid.", self.tokens.verify(access, now, false)),
            (refresh, "Refresh token invalid.", self.tokens.verify_refresh(refresh, now).map(|(identity, _)| identity)),
        ];
        for (token, refused, verified) in named {
            if token.is_empty() {
                continue;
            }
            let identity = verified.ok().and_then(identity_of).filter(|identity| identity.user == user);
            let identity = identity.ok_or(ServiceError::new(GrpcCode::InvalidArgument, refused))?;
            self.revoke(identity.session, user, "logged out").await?;
        }
        Ok(())
    }

    /// Ends a session for good.
    pub async fn revoke(&self, session: Uuid, user: Uuid, reason: &'static str) -> Result<(), ServiceError> {
        let now = self.clock.now_ms();
        let expires_at = now + i64::from(self.settings.refresh_seconds) * 1_000;
        let revocations = Arc::clone(&self.revocations);
        let operation = move |transaction: &mut Transaction<'_>| {
            end_session(transaction, (session, user), now, expires_at, reason)?;
            let revocations = Arc::clone(&revocations);
            transaction.after_commit(move || revocations.end_session(session, expires_at / 1_000));
            Ok(())
        };
        self.store.write(operation).await
    }

    /// Ends all sessions of a user that were started up to now.
    pub async fn revoke_user(&self, user: Uuid, reason: &'static str) -> Result<(), ServiceError> {
        let now = self.clock.now_ms();
        let forget_at = now / 1_000 + i64::from(self.settings.refresh_seconds);
        let revocations = Arc::clone(&self.revocations);
        let operation = move |transaction: &mut Transaction<'_>| {
            end_sessions_of(transaction, user, now, reason)?;
            let revocations = Arc::clone(&revocations);
            transaction.after_commit(move || revocations.end_user(user, now / 1_000, forget_at));
            Ok(())
        };
        self.store.write(operation).await
    }

    /// Which sessions were ended, for those who hold connections.
    #[must_use]
    pub fn revocations(&self) -> &Arc<Revocations> {
        &self.revocations
    }

    /// The tokens of a session. Claims are those of the refresh token, but for the expiry.
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

    async fn load(&self) -> Result<(), StoreError> {
        let now = self.clock.now_ms();
        // By the longest that any token lasts, because the settings may have been others before.
        let oldest = now.saturating_sub_unsigned(VALID_SECONDS_MAX * 1_000);
        let (sessions, users, erased) = self
            .store
            .read(move |transaction| {
                let ended = "SELECT id, expires_at FROM sessions WHERE revoked_at IS NOT NULL AND expires_at > ?1";
                let sessions = transaction.rows(ended, values![now], |row| Ok((row.get(0)?, row.get::<i64>(1)?)))?;
                let users = "SELECT id, sessions_valid_from FROM users WHERE sessions_valid_from > 0
                    AND sessions_valid_from > ?1";
                let users = transaction.rows(users, values![oldest], |row| Ok((row.get(0)?, row.get::<i64>(1)?)))?;
                let erased = "SELECT user_id, erased_at FROM erasures WHERE erased_at > ?1";
                let erased = transaction.rows(erased, values![oldest], |row| Ok((row.get(0)?, row.get::<i64>(1)?)))?;
                Ok::<_, StoreError>((sessions, users, erased))
            })
            .await?;
        for (session, expires_at) in sessions {
            self.revocations.end_session(session, expires_at / 1_000);
        }
        for (user, valid_from) in users {
            let valid_from = valid_from / 1_000;
            self.revocations.end_user(user, valid_from, valid_from.saturating_add_unsigned(VALID_SECONDS_MAX));
        }
        for (user, erased_at) in erased {
            self.revocations.erase_user(user, erased_at.div_euclid(1_000));
        }
        Ok(())
    }
}

/// Ends all sessions of a user, in a transaction that does more, such as a ban. Whoever calls it also tells
/// [`Revocations::end_user`] after the commit.
pub fn end_sessions_of(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    now: i64,
    reason: &str,
) -> Result<(), StoreError> {
    // As [`Revocations::end_user`] has it: those that began since the last end, within its second, have the second after it.
    let end = "UPDATE users SET sessions_valid_from =
            CASE WHEN sessions_valid_from >= ?3 THEN sessions_valid_from + 1000 ELSE ?2 END
        WHERE id = ?1";
    transaction.execute(end, values![user, now, now - now.rem_euclid(1_000)])?;
    let close = "UPDATE sessions SET revoked_at = ?2, state = 'closed', reason = ?3
        WHERE user_id = ?1 AND revoked_at IS NULL AND expires_at > ?2";
    transaction.execute(close, values![user, now, reason])?;
    Ok(())
}

/// Refuses variables that a session cannot carry. [`Sessions::start`] does so too; whoever writes something before looks
/// first.
pub fn check_variables(variables: &BTreeMap<String, String>) -> Result<(), ServiceError> {
    // As they stand in a token: more than it can hold would be a token that is refused.
    if variables.len() > VARIABLES_MAX || tokens::plain_json(variables).len() > VARIABLES_BYTES_MAX {
        let sentence = "Session variables are too large: at most 32, with 1024 bytes of JSON together.";
        return Err(ServiceError::new(GrpcCode::InvalidArgument, sentence));
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
    // What is being erased is waited for; the next statement sees that it was. A user who never was may have sessions
    // too, and they end like all others.
    let wait = format!("SELECT 1 FROM users WHERE id = ?1{}", for_presence(transaction));
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
        issued_at: verified.issued_at,
        expires_at: verified.expires_at,
    })
}
