//! Accounts over a store, with a manual clock.

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

/// Start time of tests.
pub const NOW: i64 = 1_800_000_000_000;

/// Default address of sign-ins.
pub const HOME: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 7)));

/// Accounts with their dependencies.
pub struct Fixture {
    pub name: &'static str,
    pub store: Store,
    pub clock: Arc<ManualClock>,
    pub revocations: Arc<Revocations>,
    pub registry: Registry,
    pub accounts: Arc<Accounts>,
    // Last, because the store must be closed before its database is removed.
    _database: TestDatabase,
}

impl Fixture {
    /// Creates accounts in memory, with webhooks.
    pub async fn new() -> Fixture {
        Fixture::over(memory(), |accounts, _| accounts).await
    }

    /// Creates accounts in memory, with additions such as providers.
    pub async fn with(more: impl FnOnce(Accounts, &Arc<dyn WallClock>) -> Accounts) -> Fixture {
        Fixture::over(memory(), more).await
    }

    pub async fn over(database: TestDatabase, more: impl FnOnce(Accounts, &Arc<dyn WallClock>) -> Accounts) -> Fixture {
        let registry = Registry::new();
        let store = database.open_with(&registry).await;
        let manual = Arc::new(ManualClock::at(NOW));
        let clock: Arc<dyn WallClock> = manual.clone();
        let revocations = Arc::new(Revocations::default());
        let settings = Settings { announce: true, hashing_threads: 2, ..Settings::default() };
        let accounts = Accounts::new(store.clone(), Arc::clone(&clock), Arc::clone(&revocations), settings);
        let accounts = Arc::new(more(accounts, &clock));
        Fixture { name: database.name, store, clock: manual, revocations, registry, accounts, _database: database }
    }

    /// Creates a fixture for each kind of database.
    pub async fn all() -> Vec<Fixture> {
        let mut fixtures = Vec::new();
        for database in databases() {
            fixtures.push(Fixture::over(database, |accounts, _| accounts).await);
        }
        fixtures
    }

    pub async fn sign_in(&self, method: SignInMethod) -> Result<SignedIn, ServiceError> {
        self.accounts.authenticate(sign_in(method)).await
    }

    /// Creates an account with a device.
    pub async fn user(&self, device: &str) -> Uuid {
        let signed_in = self.sign_in(by_device(device)).await.expect("a device creates an account");
        assert!(signed_in.created, "{device} is new");
        signed_in.user
    }

    /// Returns the numbers of reads and writes of the store.
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

    /// Takes the messages of the outbox: topic and payload.
    pub async fn take_messages(&self) -> Vec<(String, Json)> {
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

/// Creates a sign-in that creates a missing account.
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

/// Creates an HTTP client that may reach this machine.
pub fn http_client() -> HttpClient {
    let allowed = vec!["127.0.0.0/8".parse().expect("it is a network")];
    HttpClient::new(&http_client::Settings { allowed, ..http_client::Settings::default() })
}

/// Asserts that a call failed with a code and a message.
#[track_caller]
pub fn assert_rejected<T: std::fmt::Debug>(outcome: Result<T, ServiceError>, code: GrpcCode, message: &str) {
    let error = outcome.expect_err("it is rejected");
    assert_eq!((error.code, &*error.message), (code, message));
}
