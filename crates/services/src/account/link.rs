//! Links and unlinks login identities.

use super::login_identity::LoginIdentity;
use super::owner::{Change, OwnerClaim, Protection};
use super::sign_in::SignInMethod;
use super::{Accounts, NOT_FOUND, fields, provider};
use crate::error::{GrpcCode, ServiceError};
use aether_store::{Transaction, values};
use uuid::Uuid;

/// Maximum number of devices of an account. Beyond, most of them are abandoned.
const DEVICES_MAX: i64 = 64;

const LAST_IDENTITY: ServiceError = ServiceError::new(
    GrpcCode::PermissionDenied,
    "Cannot unlink last account identifier. Check profile exists and is not last link.",
);

/// Identity to unlink.
enum Unlinked {
    /// This identity.
    Identity(LoginIdentity),
    /// The linked identity of this kind.
    Custom,
    Email,
    External(String),
}

impl Accounts {
    /// Links a login identity, by server code. A custom id, an email address and an identity of a provider replace the
    /// previous one; devices accumulate.
    pub async fn link(&self, user: Uuid, method: SignInMethod) -> Result<(), ServiceError> {
        self.link_for(user, None, method).await
    }

    /// Links a login identity for a client. A protected account needs proof of its owner.
    pub async fn link_as_owner(&self, owner: &OwnerClaim, method: SignInMethod) -> Result<(), ServiceError> {
        self.link_for(owner.user, Some(owner), method).await
    }

    async fn link_for(&self, user: Uuid, owner: Option<&OwnerClaim>, method: SignInMethod) -> Result<(), ServiceError> {
        let (identity, password) = self.linked(method).await?;
        if password.is_none() && self.find(&identity).await?.is_some_and(|found| found.user == user) {
            return Ok(());
        }
        // Whoever links with the current password knows it.
        let proof = owner.and_then(|owner| owner.password.clone()).or_else(|| password.clone());
        let authorization = self.authorize(owner, proof).await?;
        let password = match password {
            Some(password) => Some(self.passwords.hash(password).await?),
            None => None,
        };
        let (now, taken) = (self.clock.now_ms(), identity.taken());
        let record_change = self.record_change(owner);
        let operation = move |transaction: &mut Transaction<'_>| {
            lock(transaction, user)?;
            let before = Protection::read(transaction, user)?;
            authorization.check(&before)?;
            let change = if replaces(transaction, user, &identity)? { Change::Replaced } else { Change::Linked };
            if !identity.attach(transaction, user, password.as_deref(), now)? {
                return Err(identity.taken());
            }
            record_change(transaction, &before, &identity, change)?;
            if matches!(identity, LoginIdentity::Device(_)) { check_devices(transaction, user) } else { Ok(()) }
        };
        let outcome = self.store.write(operation).await;
        // The database reports taken ids of the user's own row as duplicates.
        outcome.map_err(|error| if error.code == GrpcCode::AlreadyExists { taken } else { error })
    }

    /// Unlinks a login identity, by server code, unless it is the last one. An empty custom id, email address or proof
    /// means the linked one.
    pub async fn unlink(&self, user: Uuid, method: SignInMethod) -> Result<(), ServiceError> {
        self.unlink_for(user, None, method).await
    }

    /// Unlinks a login identity for a client. A protected account needs proof of its owner.
    pub async fn unlink_as_owner(&self, owner: &OwnerClaim, method: SignInMethod) -> Result<(), ServiceError> {
        self.unlink_for(owner.user, Some(owner), method).await
    }

    async fn unlink_for(
        &self,
        user: Uuid,
        owner: Option<&OwnerClaim>,
        method: SignInMethod,
    ) -> Result<(), ServiceError> {
        let password = match &method {
            SignInMethod::Email { password, .. } if !password.is_empty() => Some(password.clone()),
            _ => None,
        };
        let unlinked = self.unlinked(method).await?;
        let proof = owner.and_then(|owner| owner.password.clone()).or(password);
        let authorization = self.authorize(owner, proof).await?;
        let now = self.clock.now_ms();
        let record_change = self.record_change(owner);
        let operation = move |transaction: &mut Transaction<'_>| {
            lock(transaction, user)?;
            let before = Protection::read(transaction, user)?;
            authorization.check(&before)?;
            let identity = match &unlinked {
                Unlinked::Identity(identity) => Some(identity.clone()),
                Unlinked::Custom => column(transaction, user, "custom_id")?.map(LoginIdentity::Custom),
                Unlinked::Email => column(transaction, user, "email")?.map(LoginIdentity::Email),
                Unlinked::External(provider) => external_identity(transaction, user, provider)?,
            };
            let identity = identity.ok_or(LAST_IDENTITY)?;
            if count_identities(transaction, user)? < 2 || !identity.detach(transaction, user, now)? {
                return Err(LAST_IDENTITY);
            }
            record_change(transaction, &before, &identity, Change::Unlinked)?;
            Ok(())
        };
        self.store.write(operation).await
    }

    /// Returns the identity to link, and its password.
    async fn linked(&self, method: SignInMethod) -> Result<(LoginIdentity, Option<String>), ServiceError> {
        Ok(match method {
            SignInMethod::Device(id) => (LoginIdentity::device(id)?, None),
            SignInMethod::Custom(id) => (LoginIdentity::custom(id)?, None),
            SignInMethod::Email { email, password } => {
                fields::check_password(&password)?;
                (LoginIdentity::email(&email)?, Some(password))
            }
            SignInMethod::External { provider, proof } => {
                let external = self.verify(&provider, &proof).await?;
                (LoginIdentity::external(&provider, external.subject)?, None)
            }
        })
    }

    async fn unlinked(&self, method: SignInMethod) -> Result<Unlinked, ServiceError> {
        Ok(match method {
            SignInMethod::Device(id) => Unlinked::Identity(LoginIdentity::device(id)?),
            SignInMethod::Custom(id) if id.is_empty() => Unlinked::Custom,
            SignInMethod::Custom(id) => Unlinked::Identity(LoginIdentity::custom(id)?),
            SignInMethod::Email { email, .. } if email.is_empty() => Unlinked::Email,
            SignInMethod::Email { email, .. } => Unlinked::Identity(LoginIdentity::email(&email)?),
            SignInMethod::External { provider, proof } if proof.is_empty() => Unlinked::External(provider),
            SignInMethod::External { provider, proof } => {
                let external: provider::ExternalIdentity = self.verify(&provider, &proof).await?;
                Unlinked::Identity(LoginIdentity::external(&provider, external.subject)?)
            }
        })
    }
}

/// Locks the identities of an account. The state is read after this, by separate statements, so that it includes the
/// changes of the previous lock holder.
fn lock(transaction: &mut Transaction<'_>, user: Uuid) -> Result<(), ServiceError> {
    let select = format!("SELECT id FROM users WHERE id = ?1{}", transaction.for_update());
    transaction.row(&select, values![user], |_| Ok(()))?.ok_or(NOT_FOUND)
}

/// Returns true if an identity takes the place of another one. That of a provider is removed.
fn replaces(transaction: &mut Transaction<'_>, user: Uuid, identity: &LoginIdentity) -> Result<bool, ServiceError> {
    Ok(match identity {
        LoginIdentity::Custom(_) => column(transaction, user, "custom_id")?.is_some(),
        LoginIdentity::Email(_) => column(transaction, user, "email")?.is_some(),
        LoginIdentity::External { provider, subject } => {
            let replaced = "DELETE FROM user_identities WHERE user_id = ?1 AND provider = ?2 AND subject <> ?3";
            transaction.execute(replaced, values![user, provider, subject])? > 0
        }
        LoginIdentity::Device(_) | LoginIdentity::Username(_) => false,
    })
}

fn check_devices(transaction: &mut Transaction<'_>, user: Uuid) -> Result<(), ServiceError> {
    let count = "SELECT count(*) FROM user_devices WHERE user_id = ?1";
    let devices = transaction.row(count, values![user], |row| row.get::<i64>(0))?.unwrap_or(0);
    if devices > DEVICES_MAX {
        let message = format!("An account has at most {DEVICES_MAX} devices. Unlink one of them first.");
        return Err(ServiceError::with(GrpcCode::FailedPrecondition, message));
    }
    Ok(())
}

/// Returns the number of login identities of an account.
fn count_identities(transaction: &mut Transaction<'_>, user: Uuid) -> Result<i64, ServiceError> {
    let count = "SELECT (SELECT count(*) FROM user_devices WHERE user_id = u.id)
            + (SELECT count(*) FROM user_identities WHERE user_id = u.id)
            + CASE WHEN u.email IS NULL THEN 0 ELSE 1 END + CASE WHEN u.custom_id IS NULL THEN 0 ELSE 1 END
        FROM users u WHERE u.id = ?1";
    Ok(transaction.row(count, values![user], |row| row.get::<i64>(0))?.unwrap_or(0))
}

/// Reads a column of the user's own row. The name is never client input.
fn column(transaction: &mut Transaction<'_>, user: Uuid, name: &'static str) -> Result<Option<String>, ServiceError> {
    let select = format!("SELECT {name} FROM users WHERE id = ?1");
    Ok(transaction.row(&select, values![user], |row| row.get::<Option<String>>(0))?.flatten())
}

fn external_identity(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    provider: &str,
) -> Result<Option<LoginIdentity>, ServiceError> {
    let select = "SELECT subject FROM user_identities WHERE user_id = ?1 AND provider = ?2";
    let subject = transaction.row(select, values![user, provider], |row| row.get(0))?;
    Ok(subject.map(|subject| LoginIdentity::External { provider: provider.to_owned(), subject }))
}
