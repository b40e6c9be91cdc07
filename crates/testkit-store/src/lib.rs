//! Databases for tests: one of each kind, new and empty.
//!
//! ```
//! # #[tokio::main] async fn main() {
//! for database in aether_testkit_store::databases() {
//!     let store = database.open().await;
//!     store.ping().await.expect(database.name);
//! }
//! # }
//! ```
//!
//! PostgreSQL is among them if `TEST_POSTGRES_URL` says where it is, as it does under `cargo xtask test`; and there a test
//! fails if it is not.

use aether_metrics::Registry;
use aether_store::{Database, Store, StoreSettings};
use aether_testkit_postgres::{Cluster, REQUIRED_VARIABLE, URL_VARIABLE};
use std::path::PathBuf;
use std::sync::Once;
use tokio_postgres::NoTls;
use uuid::Uuid;

/// A database that is new, empty, and gone when this is dropped.
#[derive(Debug)]
pub struct TestDatabase {
    /// Which kind it is: `memory`, `file` or `postgres`.
    pub name: &'static str,
    /// Where it is, for [`Store::open`].
    pub database: Database,
    remains: Remains,
}

/// What is to be removed in the end.
#[derive(Debug)]
enum Remains {
    Nothing,
    Folder(PathBuf),
    Database { server: String, name: String },
}

/// A new database of each kind there is.
#[must_use]
pub fn databases() -> Vec<TestDatabase> {
    let mut all = vec![memory(), file()];
    all.extend(postgres());
    all
}

/// A database in memory.
#[must_use]
pub fn memory() -> TestDatabase {
    TestDatabase { name: "memory", database: Database::Memory, remains: Remains::Nothing }
}

/// A file in a folder of its own.
#[must_use]
pub fn file() -> TestDatabase {
    let folder = temporary_folder();
    let database = Database::File(folder.join("aether.db"));
    TestDatabase { name: "file", database, remains: Remains::Folder(folder) }
}

/// A database of PostgreSQL, if tests are told where that is.
///
/// # Panics
/// If it has to be there and is not.
#[must_use]
pub fn postgres() -> Option<TestDatabase> {
    server().map(|server| postgres_at(&server))
}

/// A new database of a certain PostgreSQL.
///
/// # Panics
/// If it cannot be made.
#[must_use]
pub fn postgres_at(server: &str) -> TestDatabase {
    let name = format!("test_{}", Uuid::new_v4().simple());
    on_server(server, format!("CREATE DATABASE {name}")).expect("a database of PostgreSQL can be made for the test");
    let start = server.rsplit_once('/').map_or(server, |(start, _)| start);
    let database = Database::Postgres(format!("{start}/{name}"));
    TestDatabase { name: "postgres", database, remains: Remains::Database { server: server.to_owned(), name } }
}

/// A PostgreSQL of the test's own, which it may stop, kill and start. It does not run yet.
///
/// # Panics
/// If it cannot be made, and has to be.
#[must_use]
pub fn cluster() -> Option<Cluster> {
    server().map(|_| Cluster::create(&temporary_folder()).expect("a cluster of PostgreSQL can be made for the test"))
}

/// Where PostgreSQL is. Says that it is missing, once, or fails where it must not be.
fn server() -> Option<String> {
    static TOLD: Once = Once::new();
    match std::env::var(URL_VARIABLE) {
        Ok(server) => Some(server),
        Err(_) if std::env::var_os(REQUIRED_VARIABLE).is_some() => panic!("{URL_VARIABLE} is not set"),
        Err(_) => {
            TOLD.call_once(|| {
                eprintln!("{URL_VARIABLE} is not set, so only SQLite is tested; `cargo xtask test tests` tests both.");
            });
            None
        }
    }
}

impl TestDatabase {
    /// The usual settings, with few connections: many tests run at once.
    #[must_use]
    pub fn settings(&self) -> StoreSettings {
        StoreSettings { connections: 4, ..StoreSettings::new(self.database.clone()) }
    }

    /// Opens it.
    ///
    /// # Panics
    /// If that fails.
    pub async fn open(&self) -> Store {
        self.open_with(&Registry::new()).await
    }

    /// Opens it, with figures that the test looks at.
    ///
    /// # Panics
    /// If that fails.
    pub async fn open_with(&self, registry: &Registry) -> Store {
        Store::open(&self.settings(), registry).await.expect("a new database can be opened")
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // A test that has failed has said so; what it leaves behind is no reason for a second panic.
        let _ = match &self.remains {
            Remains::Nothing => Ok(()),
            Remains::Folder(folder) => std::fs::remove_dir_all(folder).map_err(|error| error.to_string()),
            Remains::Database { server, name } => {
                on_server(server, format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
            }
        };
    }
}

/// Has a statement done outside of any test's own runtime.
fn on_server(server: &str, sql: String) -> Result<(), String> {
    let server = server.to_owned();
    let done = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(|error| error.to_string())?.block_on(async {
            let (client, connection) =
                tokio_postgres::connect(&server, NoTls).await.map_err(|error| format!("{server}: {error}"))?;
            tokio::spawn(connection);
            client.batch_execute(&sql).await.map_err(|error| format!("{sql}: {error:?}"))
        })
    });
    done.join().unwrap_or_else(|_| Err("the thread panicked".to_owned()))
}

fn temporary_folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("aether-test-{}", Uuid::new_v4().simple()));
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    folder
}
