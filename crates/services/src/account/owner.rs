//! Proof that a change of an account comes from its owner, and not from the holder of a stolen access token.
//!
//! An account is protected when its owner can sign in again without a device: with an email address and password, or
//! with an external provider. Then every change of its login identities, its deletion and its export need a recent
//! sign-in or the current password. The owner learns of changes at the email address that the account had before.

use super::lockout::Attempt;
use super::login_identity::LoginIdentity;
use super::{Accounts, NOT_FOUND, end_other_sessions};
use crate::caller::UserIdentity;
use crate::error::{GrpcCode, ServiceError, TOO_OFTEN};
use crate::session::end_other_sessions_of;
use aether_store::{StoreError, Transaction, outbox, values};
use serde_json::json;
use std::net::IpAddr;
use std::sync::Arc;
use uuid::Uuid;

/// Name of the session variable that carries the current password, in requests that link or unlink an identity.
pub const CURRENT_PASSWORD: &str = "current_password";

/// Topic of the webhook message about a change, for the owner's email address.
const TOPIC: &str = "account.changed";

const NOT_PROVEN: ServiceError = ServiceError::new(
    GrpcCode::PermissionDenied,
    "This change needs a recent sign-in. Sign in again, or send the current password as `current_password` in `vars`.",
);
const WRONG_PASSWORD: ServiceError =
    ServiceError::new(GrpcCode::PermissionDenied, "The current password is wrong. Sign in again, or reset it.");
const CHANGED_MEANWHILE: ServiceError =
    ServiceError::new(GrpcCode::Aborted, "The account is being changed by another request. Try again.");

/// Client that claims to be the owner of an account.
#[derive(Clone, Debug)]
pub struct OwnerClaim {
    /// Account.
    pub user: Uuid,
    /// Session of the request. It goes on when the others end.
    pub session: Uuid,
    /// Time of the sign-in, in seconds since 1970. A refresh does not change it.
    pub signed_in_at: u64,
    /// Current password, if the request has it.
    pub password: Option<String>,
    /// Address of the client.
    pub address: Option<IpAddr>,
}

impl OwnerClaim {
    /// Creates the claim of a session without a password.
    #[must_use]
    pub fn of_session(identity: &UserIdentity, address: Option<IpAddr>) -> OwnerClaim {
        let UserIdentity { user, session, issued_at, .. } = *identity;
        OwnerClaim { user, session, signed_in_at: issued_at, password: None, address }
    }
}

/// Means to sign in to an account again.
#[derive(Clone, Debug)]
pub(super) struct Protection {
    username: String,
    pub email: Option<String>,
    password: Option<String>,
    has_external: bool,
}

/// Reason why a change is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Authorization {
    /// Server code, or a recent sign-in.
    Granted,
    /// The account is not protected.
    NotNeeded,
    /// The password with this hash was sent.
    Password(String),
}

/// Kind of a change, as the webhook message names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Linked,
    Replaced,
    Unlinked,
}

impl Protection {
    /// Reads the state of an account. After [`super::link`] has locked it, it stays until the end of the transaction.
    pub fn read(transaction: &mut Transaction<'_>, user: Uuid) -> Result<Protection, ServiceError> {
        let select = "SELECT username, email, password,
                (SELECT count(*) FROM user_identities i WHERE i.user_id = u.id)
            FROM users u WHERE id = ?1";
        let found = transaction.row(select, values![user], |row| {
            Ok(Protection {
                username: row.get(0)?,
                email: row.get(1)?,
                password: row.get(2)?,
                has_external: row.get::<i64>(3)? > 0,
            })
        })?;
        found.ok_or(NOT_FOUND)
    }

    fn is_active(&self) -> bool {
        self.email.is_some() || self.has_external
    }
}

impl Authorization {
    /// Rejects a change if the account is no longer as it was when the change was allowed.
    pub fn check(&self, now: &Protection) -> Result<(), ServiceError> {
        let holds = match self {
            Authorization::Granted => true,
            Authorization::NotNeeded => !now.is_active(),
            Authorization::Password(hash) => now.password.as_ref() == Some(hash),
        };
        if holds { Ok(()) } else { Err(CHANGED_MEANWHILE) }
    }
}

impl Change {
    fn name(self) -> &'static str {
        match self {
            Change::Linked => "linked",
            Change::Replaced => "replaced",
            Change::Unlinked => "unlinked",
        }
    }
}

impl Accounts {
    /// Rejects the deletion or export of a protected account without proof.
    pub async fn check_owner(&self, owner: &OwnerClaim) -> Result<(), ServiceError> {
        self.authorize(Some(owner), owner.password.clone()).await.map(|_| ())
    }

    /// Returns why a change is allowed. `password` is compared with that of the account unless the sign-in is recent.
    /// Server code has no claim to prove.
    pub(super) async fn authorize(
        &self,
        owner: Option<&OwnerClaim>,
        password: Option<String>,
    ) -> Result<Authorization, ServiceError> {
        let Some(owner) = owner else { return Ok(Authorization::Granted) };
        let user = owner.user;
        let protection = self.store.read(move |transaction| Protection::read(transaction, user)).await?;
        if !protection.is_active() {
            return Ok(Authorization::NotNeeded);
        }
        let now = self.clock.now_ms();
        let age = now.div_euclid(1_000).saturating_sub_unsigned(owner.signed_in_at);
        let authorization = if age < i64::from(self.settings.recent_seconds) {
            Authorization::Granted
        } else {
            self.check_current_password(owner, password, protection.password).await?
        };
        // Only changes of the owner count, so that a thief cannot use them up.
        if self.lockout.may_change(user, now) { Ok(authorization) } else { Err(TOO_OFTEN) }
    }

    /// Compares a password with that of the account. Guesses count like those of a sign-in.
    async fn check_current_password(
        &self,
        owner: &OwnerClaim,
        password: Option<String>,
        hash: Option<String>,
    ) -> Result<Authorization, ServiceError> {
        let (Some(password), Some(hash)) = (password, hash) else { return Err(NOT_PROVEN) };
        let attempt = Attempt { account: owner.user, address: owner.address, at: self.clock.now_ms() };
        let admission = self.admit_attempt(&attempt).await?;
        match self.passwords.verify(password, Some(hash.clone())).await {
            Ok(true) => {
                self.lockout.succeeded(&attempt, admission);
                Ok(Authorization::Password(hash))
            }
            Ok(false) if owner.password.is_some() => Err(WRONG_PASSWORD),
            Ok(false) => Err(NOT_PROVEN),
            Err(error) => {
                self.lockout.cancel(&attempt, admission);
                Err(error)
            }
        }
    }

    /// Records a change of a protected account by its owner: informs the address that it had before, and ends the other
    /// sessions if an identity was replaced or removed.
    pub(super) fn record_change(
        &self,
        owner: Option<&OwnerClaim>,
    ) -> impl Fn(&mut Transaction<'_>, &Protection, &LoginIdentity, Change) -> Result<(), StoreError> + Send + 'static
    {
        let claim = owner.map(|owner| (owner.user, owner.session));
        let (now, announce) = (self.clock.now_ms(), self.settings.announce);
        let revocations = Arc::clone(&self.revocations);
        move |transaction, before, identity, change| {
            let (Some((user, session)), true) = (claim, before.is_active()) else { return Ok(()) };
            if change != Change::Linked {
                end_other_sessions_of(transaction, user, session, now, "a login identity was changed")?;
                transaction.after_commit(end_other_sessions(Arc::clone(&revocations), user, session, now));
            }
            if let (Some(email), true) = (&before.email, announce) {
                let payload = json!({
                    "user_id": user, "username": before.username, "email": email,
                    "change": change.name(), "identity": identity.kind(), "changed_at": now,
                });
                outbox::push(transaction, TOPIC, &payload.to_string(), now)?;
            }
            Ok(())
        }
    }
}
