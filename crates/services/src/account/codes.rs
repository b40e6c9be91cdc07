//! Codes that prove access to an email address: for a new password, and to verify the address.
//!
//! The server sends no mail. A webhook receives the code and its recipient, in the transaction that stores the code's
//! hash. A code works once, until it expires, and as long as the address stays the same.

use super::{Accounts, end_sessions, fields};
use crate::error::{GrpcCode, ServiceError};
use crate::session::end_sessions_of;
use aether_store::{StoreError, Transaction, outbox, values};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Random bytes of a code. It cannot be guessed, so attempts are not counted.
const CODE_BYTES: usize = 32;
/// Length of a code as text.
const CODE_TEXT_BYTES: usize = CODE_BYTES.div_ceil(3) * 4 - 1;

/// Minimum time of the answer to a password reset request. Longer than the work for an existing account, so that the
/// time does not reveal if the account exists.
const ANSWER_TIME_MIN: Duration = Duration::from_millis(250);

const NOT_OFFERED: ServiceError =
    ServiceError::new(GrpcCode::FailedPrecondition, "This server cannot send codes, because no webhook is configured.");
const CODE_INVALID: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "The code is invalid, already used, or expired. Request a new one.");
const NO_EMAIL: ServiceError =
    ServiceError::new(GrpcCode::FailedPrecondition, "The account has no email address to verify.");
const VERIFIED: ServiceError =
    ServiceError::new(GrpcCode::FailedPrecondition, "The email address is already verified.");

/// Purpose of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    PasswordReset,
    EmailVerification,
}

/// Recipient of a code.
#[derive(Clone, Debug)]
struct Recipient {
    user: Uuid,
    username: String,
    email: String,
    verified: bool,
}

impl Purpose {
    /// Returns the name used in the database.
    fn name(self) -> &'static str {
        match self {
            Purpose::PasswordReset => "password_reset",
            Purpose::EmailVerification => "email_verification",
        }
    }

    /// Returns the topic of the webhook message.
    fn topic(self) -> &'static str {
        match self {
            Purpose::PasswordReset => "account.password_reset",
            Purpose::EmailVerification => "account.email_verification",
        }
    }
}

impl Accounts {
    /// Sends a code for choosing a new password. The answer and its time are the same if the account does not exist.
    pub async fn request_password_reset(&self, email: &str, address: Option<IpAddr>) -> Result<(), ServiceError> {
        let email = fields::email(email)?;
        self.check_offered(address)?;
        let find = "SELECT id, username, email, verified_at FROM users WHERE email = ?1 AND disabled_at IS NULL";
        let work = async {
            let recipient = self
                .store
                .read(move |transaction| Ok::<_, ServiceError>(recipient(transaction, find, &email)?))
                .await?;
            match recipient {
                Some(recipient) => self.send(recipient, Purpose::PasswordReset).await.map(|_| ()),
                None => Ok(()),
            }
        };
        tokio::join!(work, tokio::time::sleep(ANSWER_TIME_MIN)).0
    }

    /// Sets a new password with a code, and ends all sessions of the account: holders of the old password are signed
    /// out. The code also proves access to the address. Other identities that were linked before the address was verified
    /// may be those of someone who used it without access, so they are removed.
    pub async fn reset_password(&self, code: &str, password: String) -> Result<(), ServiceError> {
        fields::check_password(&password)?;
        let hash = hash_of(code)?;
        let now = self.clock.now_ms();
        let purpose = Purpose::PasswordReset;
        // Hashing is expensive, so the code is checked before. It is consumed only when used.
        let known =
            self.store.read(move |transaction| Ok::<_, ServiceError>(is_known(transaction, &hash, purpose, now)?));
        if !known.await? {
            return Err(CODE_INVALID);
        }
        let password = self.passwords.hash(password).await?;
        let revocations = Arc::clone(&self.revocations);
        let operation = move |transaction: &mut Transaction<'_>| {
            let (user, email) = consume(transaction, &hash, purpose, now)?;
            let update = "UPDATE users SET password = ?3, updated_at = ?4, verified_at = coalesce(verified_at, ?4)
                WHERE id = ?1 AND email = ?2 RETURNING verified_at";
            let parameters = values![user, &email, &password, now];
            let verified_at = transaction.row(update, parameters, |row| row.get::<i64>(0))?.ok_or(CODE_INVALID)?;
            remove_unverified(transaction, user, verified_at)?;
            end_sessions_of(transaction, user, now, "the password was reset")?;
            transaction.after_commit(end_sessions(Arc::clone(&revocations), user, now));
            Ok::<_, ServiceError>(user)
        };
        let user = self.store.write(operation).await?;
        self.lockout.clear(user);
        Ok(())
    }

    /// Sends a code for verifying the user's email address.
    pub async fn request_email_verification(&self, user: Uuid, address: Option<IpAddr>) -> Result<(), ServiceError> {
        self.check_offered(address)?;
        let find = "SELECT id, username, email, verified_at FROM users WHERE id = ?1 AND email IS NOT NULL";
        let recipient =
            self.store.read(move |transaction| Ok::<_, ServiceError>(recipient(transaction, find, user)?)).await?;
        let recipient = recipient.ok_or(NO_EMAIL)?;
        if recipient.verified {
            return Err(VERIFIED);
        }
        match self.send(recipient, Purpose::EmailVerification).await? {
            true => Ok(()),
            false => Err(crate::error::TOO_OFTEN),
        }
    }

    /// Verifies an email address with a code. The code proves access to the address, so no sign-in is needed.
    pub async fn verify_email(&self, code: &str) -> Result<(), ServiceError> {
        let hash = hash_of(code)?;
        let now = self.clock.now_ms();
        let operation = move |transaction: &mut Transaction<'_>| {
            let (user, email) = consume(transaction, &hash, Purpose::EmailVerification, now)?;
            let update = "UPDATE users SET verified_at = ?3, updated_at = ?3 WHERE id = ?1 AND email = ?2";
            if transaction.execute(update, values![user, &email, now])? == 0 { Err(CODE_INVALID) } else { Ok(()) }
        };
        self.store.write(operation).await
    }

    fn check_offered(&self, address: Option<IpAddr>) -> Result<(), ServiceError> {
        if !self.settings.announce {
            return Err(NOT_OFFERED);
        }
        self.lockout.count_code_request(address, self.clock.now_ms())
    }

    /// Stores the hash of a new code, which replaces an earlier one, and sends the code to the webhook. Returns false
    /// if the account was sent too many.
    async fn send(&self, recipient: Recipient, purpose: Purpose) -> Result<bool, ServiceError> {
        let now = self.clock.now_ms();
        if !self.lockout.may_send_code(recipient.user, now) {
            return Ok(false);
        }
        let seconds = match purpose {
            Purpose::PasswordReset => self.settings.password_reset_seconds,
            Purpose::EmailVerification => self.settings.email_verification_seconds,
        };
        let expires_at = now + i64::from(seconds) * 1_000;
        let mut random = [0; CODE_BYTES];
        getrandom::fill(&mut random).expect("the system provides random numbers");
        let code = URL_SAFE_NO_PAD.encode(random);
        let operation = move |transaction: &mut Transaction<'_>| {
            let Recipient { user, username, email, .. } = &recipient;
            let replaced = "DELETE FROM account_codes WHERE user_id = ?1 AND purpose = ?2";
            transaction.execute(replaced, values![user, purpose.name()])?;
            let insert = "INSERT INTO account_codes (hash, user_id, purpose, email, created_at, expires_at)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let hash = Sha256::digest(&code);
            let parameters = values![&hash[..], user, purpose.name(), email, now, expires_at];
            transaction.execute(insert, parameters)?;
            let payload = json!({
                "user_id": user, "username": username, "email": email, "code": code, "expires_at": expires_at,
            });
            outbox::push(transaction, purpose.topic(), &payload.to_string(), now)?;
            Ok::<_, ServiceError>(true)
        };
        self.store.write(operation).await
    }
}

fn recipient<'a>(
    transaction: &mut Transaction<'_>,
    find: &str,
    by: impl Into<aether_store::SqlValue<'a>>,
) -> Result<Option<Recipient>, StoreError> {
    transaction.row(find, &[by.into()], |row| {
        Ok(Recipient {
            user: row.get(0)?,
            username: row.get(1)?,
            email: row.get(2)?,
            verified: row.get::<Option<i64>>(3)?.is_some(),
        })
    })
}

fn hash_of(code: &str) -> Result<[u8; 32], ServiceError> {
    if code.len() != CODE_TEXT_BYTES {
        return Err(CODE_INVALID);
    }
    Ok(Sha256::digest(code).into())
}

fn is_known(transaction: &mut Transaction<'_>, hash: &[u8], purpose: Purpose, now: i64) -> Result<bool, StoreError> {
    let select = "SELECT 1 FROM account_codes WHERE hash = ?1 AND purpose = ?2 AND expires_at > ?3";
    Ok(transaction.row(select, values![hash, purpose.name(), now], |_| Ok(()))?.is_some())
}

/// Removes the identities of an account that were linked before its email address was verified. The address stays.
fn remove_unverified(transaction: &mut Transaction<'_>, user: Uuid, verified_at: i64) -> Result<(), StoreError> {
    for table in ["user_devices", "user_identities"] {
        let delete = format!("DELETE FROM {table} WHERE user_id = ?1 AND created_at < ?2");
        transaction.execute(&delete, values![user, verified_at])?;
    }
    // Without a time, the custom id is as old as the account.
    let update = "UPDATE users SET custom_id = NULL
        WHERE id = ?1 AND custom_id IS NOT NULL AND coalesce(custom_id_at, created_at) < ?2";
    transaction.execute(update, values![user, verified_at]).map(|_| ())
}

/// Consumes a code. Only one of several concurrent attempts succeeds.
fn consume(
    transaction: &mut Transaction<'_>,
    hash: &[u8],
    purpose: Purpose,
    now: i64,
) -> Result<(Uuid, String), ServiceError> {
    let delete = "DELETE FROM account_codes WHERE hash = ?1 AND purpose = ?2 AND expires_at > ?3
        RETURNING user_id, email";
    let used = transaction.row(delete, values![hash, purpose.name(), now], |row| Ok((row.get(0)?, row.get(1)?)))?;
    used.ok_or(CODE_INVALID)
}
