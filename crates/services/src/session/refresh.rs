//! Refreshing: a refresh token gives one new pair, once.
//!
//! The database counts the refreshes of a session, and a refresh token carries the count at which it was issued. A
//! token with an old count was used before: by a client that lost the answer, within a few seconds; or by a thief. In
//! the second case the two cannot be told apart, so the session ends for both.

use super::tokens::{Claims, TokenKind, VALID_SECONDS_MAX};
use super::{Sessions, TokenPair, check_variables, end_session, identity_of};
use crate::account::for_presence;
use crate::caller::UserIdentity;
use crate::error::{GrpcCode, ServiceError};
use aether_store::{Statements, Transaction, values};
use std::collections::BTreeMap;
use std::sync::Arc;
use tracing::warn;

const INVALID: ServiceError = ServiceError::new(GrpcCode::Unauthenticated, "Refresh token invalid or expired.");
const BANNED: ServiceError = ServiceError::new(GrpcCode::PermissionDenied, "User account banned.");

/// Outcome of a refresh.
enum Outcome {
    Renewed { username: String, generation: u64 },
    UsedTwice,
}

impl Sessions {
    /// Returns new tokens for a refresh token. Variables replace those of the session unless they are empty.
    pub async fn refresh(&self, token: &str, variables: BTreeMap<String, String>) -> Result<TokenPair, ServiceError> {
        check_variables(&variables)?;
        let now_seconds = self.clock.now_seconds() as u64;
        let (verified, generation) = self.tokens.verify_refresh(token, now_seconds).map_err(|_| INVALID)?;
        let identity = Arc::new(identity_of(verified).ok_or(INVALID)?);
        if self.revocations.is_ended(identity.session, identity.user, identity.issued_at) {
            return Err(INVALID);
        }
        match self.renew(Arc::clone(&identity), generation).await? {
            Outcome::Renewed { username, generation } => Ok(self.pair(Claims {
                session: identity.session,
                user: identity.user,
                name: username,
                variables: if variables.is_empty() { identity.variables.clone() } else { variables },
                issued_at: identity.issued_at,
                expires_at: 0,
                role: None,
                account_role: self.roles.of(identity.user),
                kind: TokenKind::Refresh(generation),
            })),
            Outcome::UsedTwice => {
                warn!(session = %identity.session, "refresh token used twice; session ended");
                Err(INVALID)
            }
        }
    }

    /// Renews a session with one statement. Returns the username, or `None` if nothing was renewed.
    async fn try_renew(
        &self,
        identity: &UserIdentity,
        generation: u64,
        now: i64,
        expires_at: i64,
    ) -> Result<Option<String>, ServiceError> {
        let next = i64::try_from(generation).unwrap_or(i64::MAX).saturating_add(1);
        let lock = for_presence(self.store.dialect());
        // The row of the user is locked until the commit, so that the account cannot be erased meanwhile.
        let upsert = format!(
            "INSERT INTO sessions
                (id, user_id, state, generation, created_at, refreshed_at, last_seen_at, expires_at)
            SELECT ?1, ?2, 'authenticated', ?3, ?4, ?4, ?4, ?5
            WHERE EXISTS (SELECT 1 FROM users WHERE id = ?2 AND disabled_at IS NULL{lock})
            ON CONFLICT (id) DO UPDATE SET generation = excluded.generation, refreshed_at = excluded.refreshed_at,
                last_seen_at = excluded.last_seen_at, expires_at = excluded.expires_at
            WHERE sessions.generation = excluded.generation - 1 AND sessions.revoked_at IS NULL
            RETURNING (SELECT username FROM users WHERE id = ?2)"
        );
        let parameters = values![identity.session, identity.user, next, now, expires_at];
        let renewed = self
            .store
            .run(Statements::writing(upsert, parameters), |answers| answers.row(0, |row| row.get::<String>(0)));
        Ok(renewed.await?)
    }

    async fn renew(&self, identity: Arc<UserIdentity>, generation: u64) -> Result<Outcome, ServiceError> {
        let now = self.clock.now_ms();
        let expires_at = now + i64::from(self.settings.refresh_seconds) * 1_000;
        let again_until_ms = i64::from(self.settings.refresh_again_seconds) * 1_000;
        if let Some(username) = self.try_renew(&identity, generation, now, expires_at).await? {
            return Ok(Outcome::Renewed { username, generation: generation.saturating_add(1) });
        }
        // Banned, erased, revoked, or used before: finds out which.
        let revocations = Arc::clone(&self.revocations);
        let operation = move |transaction: &mut Transaction<'_>| {
            let username = username(transaction, &identity)?;
            let next = i64::try_from(generation).unwrap_or(i64::MAX).saturating_add(1);
            let upsert = "INSERT INTO sessions
                    (id, user_id, state, generation, created_at, refreshed_at, last_seen_at, expires_at)
                VALUES (?1, ?2, 'authenticated', ?3, ?4, ?4, ?4, ?5)
                ON CONFLICT (id) DO UPDATE SET generation = excluded.generation, refreshed_at = excluded.refreshed_at,
                    last_seen_at = excluded.last_seen_at, expires_at = excluded.expires_at
                WHERE sessions.generation = excluded.generation - 1 AND sessions.revoked_at IS NULL";
            let parameters = values![identity.session, identity.user, next, now, expires_at];
            if transaction.execute(upsert, parameters)? == 1 {
                return Ok(Outcome::Renewed { username, generation: next as u64 });
            }
            if was_just_renewed(transaction, &identity, next, now - again_until_ms)? {
                return Ok(Outcome::Renewed { username, generation: next as u64 });
            }
            let key = (identity.session, identity.user);
            let forget_at = now.saturating_add_unsigned(VALID_SECONDS_MAX * 1_000);
            end_session(transaction, key, now, forget_at, "a refresh token was used twice")?;
            let (revocations, session) = (Arc::clone(&revocations), identity.session);
            transaction.after_commit(move || revocations.end_session(session, forget_at / 1_000));
            Ok(Outcome::UsedTwice)
        };
        self.store.write(operation).await
    }
}

/// Returns the current username, unless the user is banned. Locks the account until the session is written, so that it
/// cannot be erased.
fn username(transaction: &mut Transaction<'_>, identity: &UserIdentity) -> Result<String, ServiceError> {
    let select =
        format!("SELECT username, disabled_at FROM users WHERE id = ?1{}", for_presence(transaction.dialect()));
    let found = transaction
        .row(&select, values![identity.user], |row| Ok((row.get::<String>(0)?, row.get::<Option<i64>>(1)?)))?;
    match found {
        None => Err(INVALID),
        Some((_, Some(_))) => Err(BANNED),
        Some((username, None)) => Ok(username),
    }
}

/// Returns true if a valid session reached this count since a time.
fn was_just_renewed(
    transaction: &mut Transaction<'_>,
    identity: &UserIdentity,
    generation: i64,
    since: i64,
) -> Result<bool, ServiceError> {
    let select = "SELECT count(*) FROM sessions
        WHERE id = ?1 AND generation = ?2 AND refreshed_at > ?3 AND revoked_at IS NULL";
    let found = transaction.row(select, values![identity.session, generation, since], |row| row.get::<i64>(0))?;
    Ok(found == Some(1))
}
