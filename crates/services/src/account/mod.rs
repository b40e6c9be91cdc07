//! Accounts, login identities and user data.
//!
//! An account has one or more login identities: devices, a custom id, an email address with a password, and identities
//! of external providers ([`provider`]). [`Accounts::authenticate`] finds the account of an identity, or creates it.
//! Tokens are issued by [`Sessions`](crate::session::Sessions).

mod ban;
mod codes;
mod erase;
mod export;
mod fields;
mod import;
mod link;
mod lockout;
mod login_identity;
mod lookup;
pub mod operation;
mod owner;
mod password;
pub mod provider;
pub(crate) mod serve;
mod sign_in;
mod user;

pub use erase::Eraser;
pub use export::AccountExporter;
pub use fields::Update;
pub(crate) use fields::{check_characters, check_text};
pub use import::IMPORT_BYTES_MAX;
pub use lookup::RANDOM_USERS_MAX;
pub use owner::{CURRENT_PASSWORD, OwnerClaim};
pub use sign_in::{SignIn, SignInMethod, SignedIn};
pub use user::{Account, USERS_MAX, User};
pub(crate) use user::{USER_COLUMNS, USER_COLUMNS_COUNT, apply, name_taken, read_user, with_list};

use crate::clock::WallClock;
use crate::error::{GrpcCode, ServiceError};
use crate::session::tokens::VALID_SECONDS_MAX;
use crate::session::{Revocations, Roles};
use aether_store::{Dialect, Store};
use lockout::Lockout;
use password::Passwords;
use provider::Provider;
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

/// Settings of accounts.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// True if account changes are sent to a webhook. Without one, codes cannot be sent to users either.
    pub announce: bool,
    /// Number of concurrent password hashes. Each takes 19 MiB and a core.
    pub hashing_threads: usize,
    /// Lifetime of a password reset code.
    pub password_reset_seconds: u32,
    /// Lifetime of an email verification code.
    pub email_verification_seconds: u32,
    /// Time after a sign-in in which the session proves that it is the owner's. With 0, only the password does.
    pub recent_seconds: u32,
}

/// Accounts of a server.
pub struct Accounts {
    store: Store,
    clock: Arc<dyn WallClock>,
    revocations: Arc<Revocations>,
    roles: Arc<Roles>,
    settings: Settings,
    providers: BTreeMap<String, Arc<dyn Provider>>,
    passwords: Passwords,
    lockout: Lockout,
    erasers: Arc<Vec<Eraser>>,
}

const NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "User account not found.");
const BANNED: ServiceError = ServiceError::new(GrpcCode::PermissionDenied, "User account banned.");
const USERNAME_TAKEN: ServiceError = ServiceError::new(GrpcCode::AlreadyExists, "Username is already in use.");

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            announce: false,
            hashing_threads: std::thread::available_parallelism().map_or(1, usize::from),
            password_reset_seconds: 3_600,
            email_verification_seconds: 86_400,
            recent_seconds: 300,
        }
    }
}

impl Accounts {
    /// Creates the service over a store. Sessions that end here are added to `revocations`.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn WallClock>, revocations: Arc<Revocations>, settings: Settings) -> Accounts {
        Accounts {
            store,
            clock,
            revocations,
            roles: Arc::default(),
            settings,
            providers: BTreeMap::new(),
            passwords: Passwords::new(settings.hashing_threads),
            lockout: Lockout::new(),
            erasers: Arc::default(),
        }
    }

    /// Changes these roles, which sessions and connections read, with those of the accounts.
    #[must_use]
    pub fn with_roles(mut self, roles: Arc<Roles>) -> Accounts {
        self.roles = roles;
        self
    }

    /// Adds an external provider. It replaces one of the same name.
    #[must_use]
    pub fn with_provider(mut self, provider: impl Provider) -> Accounts {
        self.providers.insert(provider.name().to_owned(), Arc::new(provider));
        self
    }

    /// Adds a function that runs in the transaction that erases an account, before its rows are deleted.
    #[must_use]
    pub fn with_eraser(mut self, eraser: Eraser) -> Accounts {
        Arc::get_mut(&mut self.erasers).expect("no erasure runs during setup").push(eraser);
        self
    }
}

/// Returns the locking clause for a `SELECT` of users that must exist until the operation commits, because it writes
/// rows that no foreign key ties to them. On PostgreSQL an account cannot be erased until then, and one that is being
/// erased is waited for and then not found. SQLite has one writer and needs no lock.
pub(crate) fn for_presence(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Sqlite => "",
        // The weakest lock that an erasure waits for. Updates of the user's row do not wait for it.
        Dialect::Postgres => " FOR KEY SHARE",
    }
}

/// Returns a function that revokes all sessions of a user, for as long as their tokens can last.
fn end_sessions(revocations: Arc<Revocations>, user: Uuid, now: i64) -> impl FnOnce() + Send + 'static {
    let now_seconds = now.div_euclid(1_000);
    let forget_at = now_seconds.saturating_add_unsigned(VALID_SECONDS_MAX);
    move || revocations.end_user(user, now_seconds, forget_at)
}

/// Returns a function that revokes all sessions of a user but one.
fn end_other_sessions(
    revocations: Arc<Revocations>,
    user: Uuid,
    kept: Uuid,
    now: i64,
) -> impl FnOnce() + Send + 'static {
    let now_seconds = now.div_euclid(1_000);
    let forget_at = now_seconds.saturating_add_unsigned(VALID_SECONDS_MAX);
    move || revocations.end_other_sessions(user, kept, now_seconds, forget_at)
}
