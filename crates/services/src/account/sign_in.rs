//! Sign-in: finds the account of an identity, or creates it.

use super::lockout::{ACCOUNT_LOCKED, Admission, Attempt};
use super::login_identity::{FoundAccount, LoginIdentity, found};
use super::provider::{ExternalIdentity, ProviderProof};
use super::{Accounts, BANNED, NOT_FOUND, USERNAME_TAKEN, fields};
use crate::clock::new_id;
use crate::error::{GrpcCode, ServiceError};
use aether_limits::network_of;
use aether_names::NameKeys;
use aether_store::{Statements, StoreError, outbox, values};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use uuid::Uuid;

/// Maximum attempts of a sign-in that loses a race. Two suffice, unless generated names collide repeatedly.
const ATTEMPTS_MAX: usize = 5;

/// Sessions of an account whose addresses count as known: its latest ones.
const KNOWN_SESSIONS: u32 = 100;

const INVALID_CREDENTIALS: ServiceError = ServiceError::new(GrpcCode::Unauthenticated, "Invalid credentials.");
const CONFLICT: ServiceError =
    ServiceError::new(GrpcCode::Aborted, "The account is being changed by another request. Try again.");

/// Sign-in method as sent by a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignInMethod {
    /// Device id.
    Device(String),
    /// Id chosen by the game.
    Custom(String),
    /// Email address and password. Without an address, the username of the [`SignIn`] is used.
    Email {
        /// Email address.
        email: String,
        /// Password.
        password: String,
    },
    /// External provider.
    External {
        /// Name of the provider.
        provider: String,
        /// Proof that the client got from the provider.
        proof: ProviderProof,
    },
}

/// Sign-in request.
#[derive(Clone, Debug)]
pub struct SignIn {
    /// Sign-in method.
    pub method: SignInMethod,
    /// Username of a new account, or of the account to sign in to if there is no email address.
    pub username: Option<String>,
    /// True to create a missing account.
    pub create: bool,
    /// Address of the client. `None` for server code.
    pub address: Option<IpAddr>,
}

/// Result of a sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedIn {
    /// Id of the user.
    pub user: Uuid,
    /// Username.
    pub username: String,
    /// True if the account was just created.
    pub created: bool,
}

/// Account to create.
#[derive(Clone)]
struct NewAccount {
    identity: LoginIdentity,
    method: &'static str,
    username: String,
    display_name: String,
    password: Option<String>,
}

impl SignInMethod {
    /// Returns the name for the history of sessions.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            SignInMethod::Device(_) => "device",
            SignInMethod::Custom(_) => "custom",
            SignInMethod::Email { email, .. } if email.is_empty() => "username",
            SignInMethod::Email { .. } => "email",
            SignInMethod::External { .. } => "external",
        }
    }
}

impl Accounts {
    /// Finds the account of an identity, or creates it.
    pub async fn authenticate(&self, sign_in: SignIn) -> Result<SignedIn, ServiceError> {
        let SignIn { method, username, create, address } = sign_in;
        let username = username.filter(|username| !username.is_empty());
        if let Some(username) = &username {
            fields::check_known_username(username)?;
        }
        let kind = method.name();
        match method {
            SignInMethod::Email { email, password } if email.is_empty() => {
                let required = || ServiceError::invalid("Username is required when there is no email address.");
                let identity = LoginIdentity::username(username.ok_or_else(required)?)?;
                let found = self.find(&identity).await?;
                self.check_password(&identity, found, password, address).await
            }
            SignInMethod::Email { email, password } => {
                fields::check_password(&password)?;
                let identity = LoginIdentity::email(&email)?;
                self.sign_in_with_password(identity, password, username, create, address).await
            }
            SignInMethod::Device(id) => {
                self.sign_in_with_identity(
                    LoginIdentity::device(id)?,
                    kind,
                    ExternalIdentity::default(),
                    username,
                    create,
                )
                .await
            }
            SignInMethod::Custom(id) => {
                self.sign_in_with_identity(
                    LoginIdentity::custom(id)?,
                    kind,
                    ExternalIdentity::default(),
                    username,
                    create,
                )
                .await
            }
            SignInMethod::External { provider, proof } => {
                let external = self.verify(&provider, &proof).await?;
                let identity = LoginIdentity::external(&provider, external.subject.clone())?;
                self.sign_in_with_identity(identity, kind, external, username, create).await
            }
        }
    }

    /// Signs in with an identity that needs no password.
    async fn sign_in_with_identity(
        &self,
        identity: LoginIdentity,
        method: &'static str,
        external: ExternalIdentity,
        username: Option<String>,
        create: bool,
    ) -> Result<SignedIn, ServiceError> {
        for _ in 0..ATTEMPTS_MAX {
            if let Some(found) = self.find(&identity).await? {
                return admit(found);
            }
            if !create {
                return Err(NOT_FOUND);
            }
            let new_username = username_or_generated(&username)?;
            let display_name = fields::display_name_of(external.display_name.as_deref());
            let new =
                NewAccount { identity: identity.clone(), method, username: new_username, display_name, password: None };
            if let Some(signed_in) = self.create(new, username.is_some()).await? {
                return Ok(signed_in);
            }
        }
        Err(CONFLICT)
    }

    async fn sign_in_with_password(
        &self,
        identity: LoginIdentity,
        password: String,
        username: Option<String>,
        create: bool,
        address: Option<IpAddr>,
    ) -> Result<SignedIn, ServiceError> {
        for _ in 0..ATTEMPTS_MAX {
            let found = self.find(&identity).await?;
            if found.is_some() || !create {
                return self.check_password(&identity, found, password, address).await;
            }
            let new_username = username_or_generated(&username)?;
            self.lockout.check_address(address, self.clock.now_ms())?;
            let hash = self.passwords.hash(password.clone()).await?;
            let display_name = String::new();
            let new = NewAccount {
                identity: identity.clone(),
                method: "email",
                username: new_username,
                display_name,
                password: Some(hash),
            };
            if let Some(signed_in) = self.create(new, username.is_some()).await? {
                return Ok(signed_in);
            }
        }
        Err(CONFLICT)
    }

    /// Checks a password. Gives the same answer in the same time for a missing account and a wrong password.
    async fn check_password(
        &self,
        identity: &LoginIdentity,
        found: Option<FoundAccount>,
        password: String,
        address: Option<IpAddr>,
    ) -> Result<SignedIn, ServiceError> {
        fields::check_password(&password)?;
        let account = found.as_ref().map_or_else(|| placeholder_account(identity), |found| found.user);
        let attempt = Attempt { account, address, at: self.clock.now_ms() };
        let admission = self.admit_attempt(&attempt).await?;
        let stored_hash = found.as_ref().and_then(|found| found.password.clone());
        match (self.passwords.verify(password, stored_hash).await, found) {
            (Ok(true), Some(found)) => {
                self.lockout.succeeded(&attempt, admission);
                admit(found)
            }
            (Ok(_), _) => Err(INVALID_CREDENTIALS),
            (Err(error), _) => {
                self.lockout.cancel(&attempt, admission);
                Err(error)
            }
        }
    }

    /// Counts an attempt before it is made, and rejects it if there were too many.
    pub(super) async fn admit_attempt(&self, attempt: &Attempt) -> Result<Admission, ServiceError> {
        let admission = self.lockout.begin(attempt)?;
        if admission == Admission::Anyone {
            return Ok(admission);
        }
        let known = self.has_signed_in_from(attempt).await;
        if !matches!(known, Ok(true)) {
            self.lockout.cancel(attempt, admission);
        }
        if known? { Ok(admission) } else { Err(ACCOUNT_LOCKED) }
    }

    /// Returns true if one of the account's last sessions was started from the network of the attempt.
    async fn has_signed_in_from(&self, attempt: &Attempt) -> Result<bool, ServiceError> {
        let Attempt { account, address, .. } = *attempt;
        let Some(network) = address.map(network_of) else { return Ok(false) };
        let select = "SELECT address FROM sessions WHERE user_id = ?1 ORDER BY created_at DESC LIMIT ?2";
        let select = Statements::reading(select, values![account, KNOWN_SESSIONS]);
        let known = self.store.run(select, |answers| answers.rows(0, |row| row.get::<String>(0))).await?;
        Ok(known.iter().filter_map(|address| address.parse().ok()).any(|address| network_of(address) == network))
    }

    pub(super) async fn find(&self, identity: &LoginIdentity) -> Result<Option<FoundAccount>, ServiceError> {
        self.store.run(identity.search(), |answers| Ok(answers.row(0, found)?)).await
    }

    /// Creates an account. Returns `None` if another request was faster and the lookup has to be repeated.
    async fn create(&self, new: NewAccount, name_was_chosen: bool) -> Result<Option<SignedIn>, ServiceError> {
        let (now, announce) = (self.clock.now_ms(), self.settings.announce);
        let user = new_id(now);
        let created = self.store.run(insert(user, &new, now, announce), |answers| Ok(answers.changed(0) > 0)).await;
        match created {
            Ok(true) => Ok(Some(SignedIn { user, username: new.username, created: true })),
            // A duplicate request finds the same account, which is not a taken name.
            Ok(false) if name_was_chosen && self.find(&new.identity).await?.is_none() => Err(USERNAME_TAKEN),
            Ok(false) | Err(StoreError::Duplicate(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn admit(found: FoundAccount) -> Result<SignedIn, ServiceError> {
    if found.banned {
        return Err(BANNED);
    }
    Ok(SignedIn { user: found.user, username: found.username, created: false })
}

fn username_or_generated(chosen: &Option<String>) -> Result<String, ServiceError> {
    if let Some(username) = chosen {
        fields::check_username(username)?;
    }
    Ok(chosen.clone().unwrap_or_else(fields::generated_username))
}

/// Returns the statements that create an account. The first changes nothing if the username or the identity is taken, and
/// then the others neither. If two requests create the same account at once, one fails as a duplicate.
fn insert(user: Uuid, new: &NewAccount, now: i64, announce: bool) -> Statements {
    let (custom_id, email) = match &new.identity {
        LoginIdentity::Custom(id) => (Some(id), None),
        LoginIdentity::Email(email) => (None, Some(email)),
        _ => (None, None),
    };
    let NameKeys { skeleton, folded } = NameKeys::of(&new.username);
    let mut parameters =
        values![user, &new.username, &new.display_name, email, &new.password, custom_id, now, &skeleton, &folded]
            .to_vec();
    let is_free = match &new.identity {
        LoginIdentity::Device(id) => {
            parameters.push(id.into());
            "NOT EXISTS (SELECT 1 FROM user_devices WHERE id = ?10)"
        }
        LoginIdentity::External { provider, subject } => {
            parameters.extend_from_slice(values![provider, subject]);
            "NOT EXISTS (SELECT 1 FROM user_identities WHERE provider = ?10 AND subject = ?11)"
        }
        _ => "TRUE",
    };
    let insert = format!(
        "INSERT INTO users
                (id, username, display_name, email, password, custom_id, created_at, updated_at, username_skeleton,
                 username_folded)
            SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, ?9 WHERE {is_free} ON CONFLICT DO NOTHING"
    );
    let account = Statements::writing(insert, &parameters);
    let account = match &new.identity {
        LoginIdentity::Device(id) => account.and(
            "INSERT INTO user_devices (id, user_id, created_at) SELECT ?1, id, ?3 FROM users WHERE id = ?2",
            values![id, user, now],
        ),
        LoginIdentity::External { provider, subject } => account.and(
            "INSERT INTO user_identities (provider, subject, user_id, created_at)
                SELECT ?1, ?2, id, ?4 FROM users WHERE id = ?3",
            values![provider, subject, user, now],
        ),
        _ => account,
    };
    if !announce {
        return account;
    }
    let payload = json!({ "user_id": user, "username": new.username, "method": new.method });
    outbox::push_if_user(account, user, "account.created", &payload.to_string(), now)
}

/// Returns the id under which failures of a missing account are counted.
fn placeholder_account(identity: &LoginIdentity) -> Uuid {
    let digest = Sha256::digest(format!("{identity:?}"));
    Uuid::from_slice(&digest[..16]).expect("an id is sixteen bytes")
}
