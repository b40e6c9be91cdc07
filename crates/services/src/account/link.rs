//! Further ways into an account, and fewer.

use super::login_identity::LoginIdentity;
use super::sign_in::SignInMethod;
use super::{Accounts, NOT_FOUND, fields, provider};
use crate::error::{GrpcCode, ServiceError};
use aether_store::{Transaction, values};
use uuid::Uuid;

/// Devices of an account. Someone who has more has left most of them behind.
const DEVICES_MAX: i64 = 64;

const LAST: ServiceError = ServiceError::new(
    GrpcCode::PermissionDenied,
    "Cannot unlink last account identifier. Check profile exists and is not last link.",
);

/// What is to be unlinked.
enum Unlinked {
    /// This.
    Way(LoginIdentity),
    /// Whatever there is of its kind.
    Custom,
    Email,
    External(String),
}

impl Accounts {
    /// Adds a way into an account. A custom id, an email address and an identity of a provider take the place of the one
    /// before; devices add up.
    pub async fn link(&self, user: Uuid, method: SignInMethod) -> Result<(), ServiceError> {
        let (way, password) = match method {
            SignInMethod::Device(id) => (LoginIdentity::device(id)?, None),
            SignInMethod::Custom(id) => (LoginIdentity::custom(id)?, None),
            SignInMethod::Email { email, password } => {
                fields::check_password(&password)?;
                (LoginIdentity::email(&email)?, Some(self.passwords.hash(password).await?))
            }
            SignInMethod::External { provider, proof } => {
                let external = self.verify(&provider, &proof).await?;
                (LoginIdentity::external(&provider, external.subject)?, None)
            }
        };
        let (now, taken) = (self.clock.now_ms(), way.taken());
        let operation = move |transaction: &mut Transaction<'_>| {
            lock(transaction, user)?;
            if let LoginIdentity::External { provider, subject } = &way {
                let replaced = "DELETE FROM user_identities WHERE user_id = ?1 AND provider = ?2 AND subject <> ?3";
                transaction.execute(replaced, values![user, provider, subject])?;
            }
            if !way.attach(transaction, user, password.as_deref(), now)? {
                return Err(way.taken());
            }
            if matches!(way, LoginIdentity::Device(_)) { check_devices(transaction, user) } else { Ok(()) }
        };
        let outcome = self.store.write(operation).await;
        // Ids that stand in the account's own row are found to be another's by the database.
        outcome.map_err(|refusal| if refusal.code == GrpcCode::AlreadyExists { taken } else { refusal })
    }

    /// Takes away a way into an account, but not the last one. A custom id, an email address and an identity may be left
    /// empty: then it is the one that is linked.
    pub async fn unlink(&self, user: Uuid, method: SignInMethod) -> Result<(), ServiceError> {
        let unlinked = self.unlinked(method).await?;
        let now = self.clock.now_ms();
        let operation = move |transaction: &mut Transaction<'_>| {
            lock(transaction, user)?;
            let way = match &unlinked {
                Unlinked::Way(way) => Some(way.clone()),
                Unlinked::Custom => column(transaction, user, "custom_id")?.map(LoginIdentity::Custom),
                Unlinked::Email => column(transaction, user, "email")?.map(LoginIdentity::Email),
                Unlinked::External(provider) => identity(transaction, user, provider)?,
            };
            let way = way.ok_or(LAST)?;
            if ways(transaction, user)? < 2 || !way.detach(transaction, user, now)? {
                return Err(LAST);
            }
            Ok(())
        };
        self.store.write(operation).await
    }

    async fn unlinked(&self, method: SignInMethod) -> Result<Unlinked, ServiceError> {
        Ok(match method {
            SignInMethod::Device(id) => Unlinked::Way(LoginIdentity::device(id)?),
            SignInMethod::Custom(id) if id.is_empty() => Unlinked::Custom,
            SignInMethod::Custom(id) => Unlinked::Way(LoginIdentity::custom(id)?),
            SignInMethod::Email { email, .. } if email.is_empty() => Unlinked::Email,
            SignInMethod::Email { email, .. } => Unlinked::Way(LoginIdentity::email(&email)?),
            SignInMethod::External { provider, proof } if proof.is_empty() => Unlinked::External(provider),
            SignInMethod::External { provider, proof } => {
                let external: provider::ExternalIdentity = self.verify(&provider, &proof).await?;
                Unlinked::Way(LoginIdentity::external(&provider, external.subject)?)
            }
        })
    }
}

/// Lets no other transaction change the ways into an account meanwhile. What it looks at is looked at after this, by
/// statements of its own: so it sees what the one before has done.
fn lock(transaction: &mut Transaction<'_>, user: Uuid) -> Result<(), ServiceError> {
    let select = format!("SELECT id FROM users WHERE id = ?1{}", transaction.for_update());
    transaction.row(&select, values![user], |_| Ok(()))?.ok_or(NOT_FOUND)
}

fn check_devices(transaction: &mut Transaction<'_>, user: Uuid) -> Result<(), ServiceError> {
    let count = "SELECT count(*) FROM user_devices WHERE user_id = ?1";
    let devices = transaction.row(count, values![user], |row| row.get::<i64>(0))?.unwrap_or(0);
    if devices > DEVICES_MAX {
        let sentence = format!("An account has at most {DEVICES_MAX} devices. Unlink one of them first.");
        return Err(ServiceError::with(GrpcCode::FailedPrecondition, sentence));
    }
    Ok(())
}

/// How many ways lead into an account.
fn ways(transaction: &mut Transaction<'_>, user: Uuid) -> Result<i64, ServiceError> {
    let count = "SELECT (SELECT count(*) FROM user_devices WHERE user_id = u.id)
            + (SELECT count(*) FROM user_identities WHERE user_id = u.id)
            + CASE WHEN u.email IS NULL THEN 0 ELSE 1 END + CASE WHEN u.custom_id IS NULL THEN 0 ELSE 1 END
        FROM users u WHERE u.id = ?1";
    Ok(transaction.row(count, values![user], |row| row.get::<i64>(0))?.unwrap_or(0))
}

/// A text of the account's own row, by its name, which is ours.
fn column(transaction: &mut Transaction<'_>, user: Uuid, name: &'static str) -> Result<Option<String>, ServiceError> {
    let select = format!("SELECT {name} FROM users WHERE id = ?1");
    Ok(transaction.row(&select, values![user], |row| row.get::<Option<String>>(0))?.flatten())
}

fn identity(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    provider: &str,
) -> Result<Option<LoginIdentity>, ServiceError> {
    let select = "SELECT subject FROM user_identities WHERE user_id = ?1 AND provider = ?2";
    let subject = transaction.row(select, values![user, provider], |row| row.get(0))?;
    Ok(subject.map(|subject| LoginIdentity::External { provider: provider.to_owned(), subject }))
}
