//! Login identities: each leads to one account.

use super::{fields, provider};
use crate::error::{GrpcCode, ServiceError};
use aether_store::{SqlRow, SqlValue, Statements, StoreError, Transaction, values};
use uuid::Uuid;

/// Identity that a user signs in with, with a valid format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LoginIdentity {
    Device(String),
    Custom(String),
    Email(String),
    /// Used with a password only. It is never linked, because every account has a username.
    Username(String),
    External {
        provider: String,
        subject: String,
    },
}

/// Account of a login identity.
#[derive(Clone, Debug)]
pub(super) struct FoundAccount {
    pub user: Uuid,
    pub username: String,
    pub banned: bool,
    pub password: Option<String>,
}

impl LoginIdentity {
    pub fn device(id: String) -> Result<LoginIdentity, ServiceError> {
        fields::check_device_id(&id)?;
        Ok(LoginIdentity::Device(id))
    }

    pub fn custom(id: String) -> Result<LoginIdentity, ServiceError> {
        fields::check_custom_id(&id)?;
        Ok(LoginIdentity::Custom(id))
    }

    pub fn email(address: &str) -> Result<LoginIdentity, ServiceError> {
        fields::email(address).map(LoginIdentity::Email)
    }

    pub fn username(username: String) -> Result<LoginIdentity, ServiceError> {
        fields::check_known_username(&username)?;
        Ok(LoginIdentity::Username(username))
    }

    pub fn external(provider: &str, subject: String) -> Result<LoginIdentity, ServiceError> {
        // The provider defines the id, within what can be stored.
        fields::check_text("The provider's user id", &subject, 1..=provider::SUBJECT_BYTES_MAX)?;
        Ok(LoginIdentity::External { provider: provider.to_owned(), subject })
    }

    /// Returns the kind of the identity, as webhook messages name it: a provider by its name.
    pub fn kind(&self) -> &str {
        match self {
            LoginIdentity::Device(_) => "device",
            LoginIdentity::Custom(_) => "custom",
            LoginIdentity::Email(_) => "email",
            LoginIdentity::Username(_) => "username",
            LoginIdentity::External { provider, .. } => provider,
        }
    }

    /// Returns the statement that finds the account, including what sign-in needs.
    pub fn search(&self) -> Statements {
        const BY_DEVICE: &str = "SELECT u.id, u.username, u.disabled_at, u.password
            FROM user_devices d JOIN users u ON u.id = d.user_id WHERE d.id = ?1";
        const BY_IDENTITY: &str = "SELECT u.id, u.username, u.disabled_at, u.password
            FROM user_identities i JOIN users u ON u.id = i.user_id WHERE i.provider = ?1 AND i.subject = ?2";
        const BY_CUSTOM_ID: &str = "SELECT id, username, disabled_at, password FROM users WHERE custom_id = ?1";
        const BY_EMAIL: &str = "SELECT id, username, disabled_at, password FROM users WHERE email = ?1";
        const BY_USERNAME: &str = "SELECT id, username, disabled_at, password FROM users WHERE username = ?1";
        match self {
            LoginIdentity::Device(id) => Statements::reading(BY_DEVICE, values![id]),
            LoginIdentity::Custom(id) => Statements::reading(BY_CUSTOM_ID, values![id]),
            LoginIdentity::Email(email) => Statements::reading(BY_EMAIL, values![email]),
            LoginIdentity::Username(username) => Statements::reading(BY_USERNAME, values![username]),
            LoginIdentity::External { provider, subject } => {
                Statements::reading(BY_IDENTITY, values![provider, subject])
            }
        }
    }

    /// Finds the account within a larger transaction.
    pub fn find(&self, transaction: &mut Transaction<'_>) -> Result<Option<FoundAccount>, StoreError> {
        transaction.answers(&self.search())?.row(0, found)
    }

    /// Links the identity to an account. Returns false if it belongs to another one. An identity in the user's own row
    /// fails as a duplicate instead.
    pub fn attach(
        &self,
        transaction: &mut Transaction<'_>,
        user: Uuid,
        password: Option<&str>,
        now: i64,
    ) -> Result<bool, StoreError> {
        let inserted = match self {
            LoginIdentity::Device(id) => {
                let insert = "INSERT INTO user_devices (id, user_id, created_at) VALUES (?1, ?2, ?3)
                    ON CONFLICT (id) DO NOTHING";
                transaction.execute(insert, values![id, user, now])?
            }
            LoginIdentity::External { provider, subject } => {
                let insert = "INSERT INTO user_identities (provider, subject, user_id, created_at)
                    VALUES (?1, ?2, ?3, ?4) ON CONFLICT (provider, subject) DO NOTHING";
                transaction.execute(insert, values![provider, subject, user, now])?
            }
            LoginIdentity::Custom(id) => {
                let update = "UPDATE users SET custom_id = ?2, custom_id_at = ?3, updated_at = ?3 WHERE id = ?1";
                transaction.execute(update, values![user, id, now])?
            }
            LoginIdentity::Email(email) => {
                // The new address is not verified, and codes sent to the old one become void.
                transaction.execute("DELETE FROM account_codes WHERE user_id = ?1", values![user])?;
                let update = "UPDATE users SET email = ?2, password = ?3, updated_at = ?4,
                        verified_at = CASE WHEN email = ?2 THEN verified_at END
                    WHERE id = ?1";
                transaction.execute(update, values![user, email, password, now])?
            }
            LoginIdentity::Username(_) => 0,
        };
        Ok(inserted > 0 || self.find(transaction)?.is_some_and(|found| found.user == user))
    }

    /// Unlinks the identity. Returns true if it was linked to the account.
    pub fn detach(&self, transaction: &mut Transaction<'_>, user: Uuid, now: i64) -> Result<bool, StoreError> {
        let (statement, parameters): (_, Vec<SqlValue<'_>>) = match self {
            LoginIdentity::Device(id) => {
                ("DELETE FROM user_devices WHERE user_id = ?1 AND id = ?2", values![user, id].to_vec())
            }
            LoginIdentity::External { provider, subject } => (
                "DELETE FROM user_identities WHERE user_id = ?1 AND provider = ?2 AND subject = ?3",
                values![user, provider, subject].to_vec(),
            ),
            LoginIdentity::Custom(id) => (
                "UPDATE users SET custom_id = NULL, updated_at = ?3 WHERE id = ?1 AND custom_id = ?2",
                values![user, id, now].to_vec(),
            ),
            LoginIdentity::Email(email) => (
                "UPDATE users SET email = NULL, password = NULL, verified_at = NULL, updated_at = ?3
                    WHERE id = ?1 AND email = ?2",
                values![user, email, now].to_vec(),
            ),
            LoginIdentity::Username(_) => return Ok(false),
        };
        let changed = transaction.execute(statement, &parameters)? > 0;
        if changed && matches!(self, LoginIdentity::Email(_)) {
            transaction.execute("DELETE FROM account_codes WHERE user_id = ?1", values![user])?;
        }
        Ok(changed)
    }

    /// Returns the error for an identity that belongs to another account.
    pub fn taken(&self) -> ServiceError {
        ServiceError::new(
            GrpcCode::AlreadyExists,
            match self {
                LoginIdentity::Device(_) => "Device ID is already in use.",
                LoginIdentity::Custom(_) => "Custom ID is already in use.",
                LoginIdentity::Email(_) => "Email address is already in use.",
                LoginIdentity::Username(_) => "Username is already in use.",
                LoginIdentity::External { .. } => "The provider's user is already linked to another account.",
            },
        )
    }
}

pub(super) fn found(row: &SqlRow<'_>) -> Result<FoundAccount, StoreError> {
    Ok(FoundAccount {
        user: row.get(0)?,
        username: row.get(1)?,
        banned: row.get::<Option<i64>>(2)?.is_some(),
        password: row.get(3)?,
    })
}
