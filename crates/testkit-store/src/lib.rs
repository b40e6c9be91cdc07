//! New, empty databases of each kind for tests.
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
//! PostgreSQL is included if `TEST_POSTGRES_URL` is set. `cargo xtask test` sets it, and also `TEST_POSTGRES_REQUIRED`, which
//! makes tests fail without PostgreSQL.

use aether_metrics::Registry;
use aether_store::{Database, Store, StoreSettings};
use aether_testkit_postgres::{Cluster, REQUIRED_VARIABLE, URL_VARIABLE};
use std::path::PathBuf;
use std::sync::Once;
use tokio_postgres::NoTls;
use uuid::Uuid;

/// A new, empty database that is removed when this is dropped.
#[derive(Debug)]
pub struct TestDatabase {
    /// Kind of database: `memory`, `file` or `postgres`.
    pub name: &'static str,
    /// Location of the data, for [`Store::open`].
    pub database: Database,
    cleanup: Cleanup,
}

/// Cleanup when the database is dropped.
#[derive(Debug)]
enum Cleanup {
    Nothing,
    Folder(PathBuf),
    Database { server: String, name: String },
}

/// Creates a database of each available kind.
#[must_use]
pub fn databases() -> Vec<TestDatabase> {
    let mut all = vec![memory(), file()];
    all.extend(postgres());
    all
}

/// Creates a database in memory.
#[must_use]
pub fn memory() -> TestDatabase {
    TestDatabase { name: "memory", database: Database::Memory, cleanup: Cleanup::Nothing }
}

/// Creates a SQLite file in its own folder.
#[must_use]
pub fn file() -> TestDatabase {
    let folder = temporary_folder();
    let database = Database::File(folder.join("aether.db"));
    TestDatabase { name: "file", database, cleanup: Cleanup::Folder(folder) }
}

/// Creates a PostgreSQL database, if `TEST_POSTGRES_URL` is set.
///
/// # Panics
/// Panics if PostgreSQL is required and missing.
#[must_use]
pub fn postgres() -> Option<TestDatabase> {
    server().map(|server| postgres_at(&server))
}

/// Creates a database on a PostgreSQL server.
///
/// # Panics
/// Panics if that fails.
#[must_use]
pub fn postgres_at(server: &str) -> TestDatabase {
    let name = format!("test_{}", Uuid::new_v4().simple());
    execute_on(server, format!("CREATE DATABASE {name}")).expect("the test database can be created");
    let start = server.rsplit_once('/').map_or(server, |(start, _)| start);
    let database = Database::Postgres(format!("{start}/{name}"));
    TestDatabase { name: "postgres", database, cleanup: Cleanup::Database { server: server.to_owned(), name } }
}

/// Creates a cluster for one test, which may stop, kill and start it. It is not started.
///
/// # Panics
/// Panics if that fails, or if PostgreSQL is required and missing.
#[must_use]
pub fn cluster() -> Option<Cluster> {
    server().map(|_| Cluster::create(&temporary_folder()).expect("the cluster can be created"))
}

/// Returns the connection string of PostgreSQL. Without one it prints a notice once, or panics if PostgreSQL is required.
fn server() -> Option<String> {
    static NOTICE: Once = Once::new();
    match std::env::var(URL_VARIABLE) {
        Ok(server) => Some(server),
        Err(_) if std::env::var_os(REQUIRED_VARIABLE).is_some() => panic!("{URL_VARIABLE} is not set"),
        Err(_) => {
            NOTICE.call_once(|| {
                eprintln!("{URL_VARIABLE} is not set, so only SQLite is tested; `cargo xtask test tests` tests both.");
            });
            None
        }
    }
}

impl TestDatabase {
    /// Returns the default settings with few connections, because many tests run at once.
    #[must_use]
    pub fn settings(&self) -> StoreSettings {
        StoreSettings { connections: 4, ..StoreSettings::new(self.database.clone()) }
    }

    /// Opens the database.
    ///
    /// # Panics
    /// Panics if that fails.
    pub async fn open(&self) -> Store {
        self.open_with(&Registry::new()).await
    }

    /// Opens the database with a given metric registry.
    ///
    /// # Panics
    /// Panics if that fails.
    pub async fn open_with(&self, registry: &Registry) -> Store {
        Store::open(&self.settings(), registry).await.expect("the database can be opened")
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // Errors are ignored: a second panic while a failed test unwinds would abort the process.
        let _ = match &self.cleanup {
            Cleanup::Nothing => Ok(()),
            Cleanup::Folder(folder) => std::fs::remove_dir_all(folder).map_err(|error| error.to_string()),
            Cleanup::Database { server, name } => {
                execute_on(server, format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
            }
        };
    }
}

/// Executes a statement on its own runtime and thread.
fn execute_on(server: &str, sql: String) -> Result<(), String> {
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
    std::fs::create_dir_all(&folder).expect("the temporary folder can be created");
    folder
}
