//! Accounts: who someone is, the ways in which they may show it, and what is known about them.
//!
//! An account has one or more ways in: devices, a custom id, an email address with a password, and identities of
//! external providers ([`provider`]). [`Accounts::authenticate`] finds the account behind one, or creates it; tokens are
//! not made here but by [`Sessions`](crate::session::Sessions).

mod ban;
mod codes;
mod erase;
mod export;
mod fields;
mod link;
mod lockout;
mod login_identity;
pub mod operation;
mod password;
pub mod provider;
pub(crate) mod serve;
mod sign_in;
mod user;

pub use erase::Eraser;
pub use fields::Update;
pub use sign_in::{SignIn, SignInMethod, SignedIn};
pub use user::{Account, USERS_MAX, User};
pub(crate) use user::{apply, name_taken};

use crate::clock::WallClock;
use crate::error::{GrpcCode, ServiceError};
use crate::session::Revocations;
use crate::session::tokens::VALID_SECONDS_MAX;
use aether_store::{Dialect, Store, Transaction};
use export::EXPORTS_AT_ONCE;
use lockout::Lockout;
use password::Passwords;
use provider::Provider;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Semaphore;
use uuid::Uuid;

/// How accounts are to be.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Whether the outside is told about accounts, which is so when there are webhooks. Without them there is nobody who
    /// could send a code to its owner either.
    pub announce: bool,
    /// Passwords that are hashed at once. Each takes 19 MiB and a core meanwhile.
    pub hashing_threads: usize,
    /// How long a code for a new password can be used.
    pub password_reset_seconds: u32,
    /// How long a code that confirms an email address can be used.
    pub email_verification_seconds: u32,
}

/// The accounts of a server.
pub struct Accounts {
    store: Store,
    clock: Arc<dyn WallClock>,
    revocations: Arc<Revocations>,
    settings: Settings,
    providers: BTreeMap<String, Arc<dyn Provider>>,
    passwords: Passwords,
    lockout: Lockout,
    erasers: Arc<Vec<Eraser>>,
    exports: Semaphore,
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
        }
    }
}

impl Accounts {
    /// Accounts over a store. Sessions that are ended here are told to `revocations`.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn WallClock>, revocations: Arc<Revocations>, settings: Settings) -> Accounts {
        Accounts {
            store,
            clock,
            revocations,
            settings,
            providers: BTreeMap::new(),
            passwords: Passwords::new(settings.hashing_threads),
            lockout: Lockout::new(),
            erasers: Arc::default(),
            exports: Semaphore::new(EXPORTS_AT_ONCE),
        }
    }

    /// Lets people sign in by an external provider too. One of the same name takes the place of an earlier one.
    #[must_use]
    pub fn with_provider(mut self, provider: impl Provider) -> Accounts {
        self.providers.insert(provider.name().to_owned(), Arc::new(provider));
        self
    }

    /// Has something done in the transaction in which an account is erased, before its rows go.
    #[must_use]
    pub fn with_eraser(mut self, eraser: Eraser) -> Accounts {
        Arc::get_mut(&mut self.erasers).expect("nothing is being erased before the accounts are used").push(eraser);
        self
    }
}

/// What stands at the end of a `SELECT` of users who have to be there until this operation is done, because it writes
/// rows that nothing but it ties to them. On PostgreSQL an account cannot be erased until then, and one that is being
/// erased is waited for and then not found. SQLite has one writer, so there nothing is needed.
pub(crate) fn for_presence(transaction: &Transaction<'_>) -> &'static str {
    match transaction.dialect() {
        Dialect::Sqlite => "",
        // The weakest lock that an erasure waits for: changes of the user's own row go on beside it.
        Dialect::Postgres => " FOR KEY SHARE",
    }
}

/// Tells that all sessions of a user are over; remembered for as long as a token of theirs can last.
fn end_sessions(revocations: Arc<Revocations>, user: Uuid, now: i64) -> impl FnOnce() + Send + 'static {
    let now_seconds = now.div_euclid(1_000);
    let forget_at = now_seconds.saturating_add_unsigned(VALID_SECONDS_MAX);
    move || revocations.end_user(user, now_seconds, forget_at)
}
