//! Signing in: the account behind a way in, or a new one.

use super::login_identity::{FoundAccount, LoginIdentity};
use super::provider::{ExternalIdentity, ProviderProof};
use super::{Accounts, BANNED, NOT_FOUND, USERNAME_TAKEN, fields};
use crate::clock::new_id;
use crate::error::{GrpcCode, ServiceError};
use aether_store::{StoreError, Transaction, outbox, values};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use uuid::Uuid;

/// How often a sign-in looks again because another was faster. Two rounds settle it; more only if names that nobody
/// chose are taken again and again.
const ROUNDS_MAX: usize = 5;

const INVALID_CREDENTIALS: ServiceError = ServiceError::new(GrpcCode::Unauthenticated, "Invalid credentials.");
const AGAIN: ServiceError =
    ServiceError::new(GrpcCode::Aborted, "The account is being changed by another request. Try again.");

/// A way to say who one is, as a client sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignInMethod {
    /// By a device's id.
    Device(String),
    /// By an id of the game's own choice.
    Custom(String),
    /// By an email address and a password; without an address, by the username beside it.
    Email {
        /// The address.
        email: String,
        /// The password.
        password: String,
    },
    /// By an external provider.
    External {
        /// Its name.
        provider: String,
        /// What the provider gave to the client.
        proof: ProviderProof,
    },
}

/// An attempt to sign in.
#[derive(Clone, Debug)]
pub struct SignIn {
    /// The way.
    pub method: SignInMethod,
    /// The username for a new account; or, without an email address, the one to sign in to.
    pub username: Option<String>,
    /// Whether an account is created when there is none.
    pub create: bool,
    /// Where it comes from; none for the server's own code.
    pub address: Option<IpAddr>,
}

/// Someone who has signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedIn {
    /// The user.
    pub user: Uuid,
    /// Their name.
    pub username: String,
    /// Whether the account was created just now.
    pub created: bool,
}

/// Why an account was not created.
enum NotCreated {
    /// The way leads to an account meanwhile.
    WayTaken,
    NameTaken,
    Refused(ServiceError),
}

/// An account that is to be created.
#[derive(Clone)]
struct New {
    way: LoginIdentity,
    method: &'static str,
    username: String,
    display_name: String,
    password: Option<String>,
}

impl SignInMethod {
    /// What kind it is, for the history of sessions.
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
    /// Finds the account behind a way in, or creates it.
    pub async fn authenticate(&self, sign_in: SignIn) -> Result<SignedIn, ServiceError> {
        let SignIn { method, username, create, address } = sign_in;
        let username = username.filter(|username| !username.is_empty());
        if let Some(username) = &username {
            fields::check_username(username)?;
        }
        let kind = method.name();
        match method {
            SignInMethod::Email { email, password } if email.is_empty() => {
                let required = || ServiceError::invalid("Username is required when there is no email address.");
                let way = LoginIdentity::username(username.ok_or_else(required)?)?;
                let found = self.find(&way).await?;
                self.check_password(&way, found, password, address).await
            }
            SignInMethod::Email { email, password } => {
                fields::check_password(&password)?;
                let way = LoginIdentity::email(&email)?;
                self.by_password(way, password, username, create, address).await
            }
            SignInMethod::Device(id) => {
                self.by_way(LoginIdentity::device(id)?, kind, ExternalIdentity::default(), username, create).await
            }
            SignInMethod::Custom(id) => {
                self.by_way(LoginIdentity::custom(id)?, kind, ExternalIdentity::default(), username, create).await
            }
            SignInMethod::External { provider, proof } => {
                let external = self.verify(&provider, &proof).await?;
                let way = LoginIdentity::external(&provider, external.subject.clone())?;
                self.by_way(way, kind, external, username, create).await
            }
        }
    }

    /// A way that is enough by itself.
    async fn by_way(
        &self,
        way: LoginIdentity,
        method: &'static str,
        external: ExternalIdentity,
        username: Option<String>,
        create: bool,
    ) -> Result<SignedIn, ServiceError> {
        for _ in 0..ROUNDS_MAX {
            if let Some(found) = self.find(&way).await? {
                return admit(found);
            }
            if !create {
                return Err(NOT_FOUND);
            }
            let display_name = fields::display_name_of(external.display_name.as_deref());
            let new = New { way: way.clone(), method, username: name(&username), display_name, password: None };
            if let Some(signed_in) = self.create(new, username.is_some()).await? {
                return Ok(signed_in);
            }
        }
        Err(AGAIN)
    }

    async fn by_password(
        &self,
        way: LoginIdentity,
        password: String,
        username: Option<String>,
        create: bool,
        address: Option<IpAddr>,
    ) -> Result<SignedIn, ServiceError> {
        for _ in 0..ROUNDS_MAX {
            let found = self.find(&way).await?;
            if found.is_some() || !create {
                return self.check_password(&way, found, password, address).await;
            }
            self.lockout.check_address(address, self.clock.now_ms())?;
            let hash = self.passwords.hash(password.clone()).await?;
            let display_name = String::new();
            let new = New {
                way: way.clone(),
                method: "email",
                username: name(&username),
                display_name,
                password: Some(hash),
            };
            if let Some(signed_in) = self.create(new, username.is_some()).await? {
                return Ok(signed_in);
            }
        }
        Err(AGAIN)
    }

    /// The same answer, and in the same time, whether there is no such account or the password is wrong.
    async fn check_password(
        &self,
        way: &LoginIdentity,
        found: Option<FoundAccount>,
        password: String,
        address: Option<IpAddr>,
    ) -> Result<SignedIn, ServiceError> {
        fields::check_password(&password)?;
        let now = self.clock.now_ms();
        self.lockout.check_address(address, now)?;
        let account = found.as_ref().map_or_else(|| nobody(way), |found| found.user);
        self.lockout.begin(account, now)?;
        let kept = found.as_ref().and_then(|found| found.password.clone());
        match (self.passwords.verify(password, kept).await, found) {
            (Ok(true), Some(found)) => {
                self.lockout.succeeded(account);
                admit(found)
            }
            (Ok(_), _) => {
                self.lockout.failed(address, now);
                Err(INVALID_CREDENTIALS)
            }
            (Err(refusal), _) => {
                self.lockout.take_back(account, now);
                Err(refusal)
            }
        }
    }

    async fn find(&self, way: &LoginIdentity) -> Result<Option<FoundAccount>, ServiceError> {
        let way = way.clone();
        self.store.read(move |transaction| Ok(way.find(transaction)?)).await
    }

    /// Creates an account; `None` if it has to be looked for again.
    async fn create(&self, new: New, name_was_chosen: bool) -> Result<Option<SignedIn>, ServiceError> {
        let (now, announce) = (self.clock.now_ms(), self.settings.announce);
        let user = new_id(now);
        let username = new.username.clone();
        let created = self.store.write(move |transaction| insert(transaction, user, &new, now, announce)).await;
        match created {
            Ok(()) => Ok(Some(SignedIn { user, username, created: true })),
            Err(NotCreated::NameTaken) if name_was_chosen => Err(USERNAME_TAKEN),
            Err(NotCreated::NameTaken | NotCreated::WayTaken) => Ok(None),
            Err(NotCreated::Refused(refusal)) => Err(refusal),
        }
    }
}

impl From<StoreError> for NotCreated {
    fn from(error: StoreError) -> NotCreated {
        NotCreated::Refused(error.into())
    }
}

fn admit(found: FoundAccount) -> Result<SignedIn, ServiceError> {
    if found.banned {
        return Err(BANNED);
    }
    Ok(SignedIn { user: found.user, username: found.username, created: false })
}

fn name(chosen: &Option<String>) -> String {
    chosen.clone().unwrap_or_else(fields::generated_username)
}

fn insert(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    new: &New,
    now: i64,
    announce: bool,
) -> Result<(), NotCreated> {
    let (custom_id, email) = match &new.way {
        LoginIdentity::Custom(id) => (Some(id), None),
        LoginIdentity::Email(email) => (None, Some(email)),
        _ => (None, None),
    };
    let insert = "INSERT INTO users
            (id, username, display_name, email, password, custom_id, created_at, updated_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7) ON CONFLICT DO NOTHING";
    let parameters = values![user, &new.username, &new.display_name, email, &new.password, custom_id, now];
    if transaction.execute(insert, parameters)? == 0 {
        // The same request may have come twice: then it is the same account, and not a name that is taken.
        return Err(match new.way.find(transaction)? {
            Some(_) => NotCreated::WayTaken,
            None => NotCreated::NameTaken,
        });
    }
    let is_row = matches!(new.way, LoginIdentity::Device(_) | LoginIdentity::External { .. });
    if is_row && !new.way.attach(transaction, user, None, now)? {
        return Err(NotCreated::WayTaken);
    }
    if announce {
        let told = json!({ "user_id": user, "username": new.username, "method": new.method });
        outbox::push(transaction, "account.created", &told.to_string(), now)?;
    }
    Ok(())
}

/// What failures are counted by when there is no such account.
fn nobody(way: &LoginIdentity) -> Uuid {
    let digest = Sha256::digest(format!("{way:?}"));
    Uuid::from_slice(&digest[..16]).expect("an id is sixteen bytes")
}
