//! Accounts over a store, at a time that is set by hand.

use aether_metrics::Registry;
use aether_services::account::{Accounts, Settings, SignIn, SignInMethod, SignedIn};
use aether_services::clock::{ManualClock, WallClock};
use aether_services::http_client::{self, HttpClient};
use aether_services::session::Revocations;
use aether_services::{GrpcCode, ServiceError};
use aether_store::{SqlValue, Store, StoreError, Transaction, outbox};
use aether_testkit_store::{TestDatabase, databases, memory};
use serde_json::Value as Json;
use std::net::IpAddr;
use std::sync::Arc;
use uuid::Uuid;

/// When tests begin.
pub const NOW: i64 = 1_800_000_000_000;

/// The address that sign-ins come from, unless a test says otherwise.
pub const HOME: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 7)));

/// Accounts with what is around them.
pub struct World {
    pub name: &'static str,
    pub store: Store,
    pub clock: Arc<ManualClock>,
    pub revocations: Arc<Revocations>,
    pub registry: Registry,
    pub accounts: Arc<Accounts>,
    // Last, because the store has to be closed before its database is removed.
    _database: TestDatabase,
}

impl World {
    /// In memory, and the outside is told what happens.
    pub async fn new() -> World {
        World::over(memory(), |accounts, _| accounts).await
    }

    /// In memory, with more to the accounts, such as providers.
    pub async fn with(more: impl FnOnce(Accounts, &Arc<dyn WallClock>) -> Accounts) -> World {
        World::over(memory(), more).await
    }

    pub async fn over(database: TestDatabase, more: impl FnOnce(Accounts, &Arc<dyn WallClock>) -> Accounts) -> World {
        let registry = Registry::new();
        let store = database.open_with(&registry).await;
        let manual = Arc::new(ManualClock::at(NOW));
        let clock: Arc<dyn WallClock> = manual.clone();
        let revocations = Arc::new(Revocations::default());
        let settings = Settings { announce: true, hashing_threads: 2, ..Settings::default() };
        let accounts = Accounts::new(store.clone(), Arc::clone(&clock), Arc::clone(&revocations), settings);
        let accounts = Arc::new(more(accounts, &clock));
        World { name: database.name, store, clock: manual, revocations, registry, accounts, _database: database }
    }

    /// A world over each kind of database.
    pub async fn all() -> Vec<World> {
        let mut worlds = Vec::new();
        for database in databases() {
            worlds.push(World::over(database, |accounts, _| accounts).await);
        }
        worlds
    }

    pub async fn sign_in(&self, method: SignInMethod) -> Result<SignedIn, ServiceError> {
        self.accounts.authenticate(sign_in(method)).await
    }

    /// A new account, by a device.
    pub async fn user(&self, device: &str) -> Uuid {
        let signed_in = self.sign_in(by_device(device)).await.expect("a device creates an account");
        assert!(signed_in.created, "{device} is new");
        signed_in.user
    }

    /// How often the store was asked to read and to write.
    pub fn operations(&self) -> (u64, u64) {
        let count = |kind| self.registry.counter("aether_database_operations_total", "", &[("kind", kind)]).value();
        (count("read"), count("write"))
    }

    pub async fn execute(&self, sql: &'static str) {
        let operation = move |transaction: &mut Transaction<'_>| transaction.execute(sql, &[]);
        self.store.write(operation).await.expect("the statement is right");
    }

    pub async fn count(&self, sql: String, user: Uuid) -> i64 {
        let operation = move |transaction: &mut Transaction<'_>| {
            transaction.row(&sql, &[SqlValue::Uuid(user)], |row| row.get::<i64>(0))
        };
        self.store.read(operation).await.expect("rows can be counted").expect("a count is a row")
    }

    /// What the outside is told about, and what.
    pub async fn told(&self) -> Vec<(String, Json)> {
        let operation = |transaction: &mut Transaction<'_>| {
            let messages = outbox::claim(transaction, i64::MAX - 1, i64::MAX, 100)?;
            messages.iter().try_for_each(|message| outbox::confirm(transaction, message.id))?;
            Ok::<_, StoreError>(messages)
        };
        let messages = self.store.write(operation).await.expect("the outbox can be read");
        let read = |text: &str| serde_json::from_str(text).expect("a message is JSON");
        messages.into_iter().map(|message| (message.topic, read(&message.payload))).collect()
    }
}

/// A sign-in that creates the account if it is not there.
pub fn sign_in(method: SignInMethod) -> SignIn {
    SignIn { method, username: None, create: true, address: HOME }
}

pub fn by_device(id: &str) -> SignInMethod {
    SignInMethod::Device(id.to_owned())
}

pub fn by_custom_id(id: &str) -> SignInMethod {
    SignInMethod::Custom(id.to_owned())
}

pub fn by_email(email: &str, password: &str) -> SignInMethod {
    SignInMethod::Email { email: email.to_owned(), password: password.to_owned() }
}

/// A client that may reach this machine.
pub fn http_client() -> HttpClient {
    let allowed = vec!["127.0.0.0/8".parse().expect("it is a network")];
    HttpClient::new(&http_client::Settings { allowed, ..http_client::Settings::default() })
}

/// Whether something was refused with a code and a sentence.
#[track_caller]
pub fn assert_refused<T: std::fmt::Debug>(outcome: Result<T, ServiceError>, code: GrpcCode, message: &str) {
    let refusal = outcome.expect_err("it is refused");
    assert_eq!((refusal.code, &*refusal.message), (code, message));
}
