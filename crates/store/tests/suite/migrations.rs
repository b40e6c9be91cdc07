//! Opening databases: new, older, newer, damaged, and in use.

use crate::ALL;
use aether_metrics::Registry;
use aether_store::{Store, StoreError, StoreSettings, values};
use aether_testkit_store::{TestDatabase, databases, file, postgres};
use std::time::Duration;

/// Databases that can be opened again.
fn durable() -> impl Iterator<Item = TestDatabase> {
    [file()].into_iter().chain(postgres())
}

async fn open(settings: &StoreSettings) -> Result<Store, StoreError> {
    Store::open(settings, &Registry::new()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_database_gets_all_tables_and_keeps_them() {
    for database in databases() {
        let store = database.open().await;
        let status = store.migration_status().await.unwrap();
        assert_eq!((status.applied, status.pending), (ALL.to_vec(), vec![]), "{}", database.name);
        let user = "INSERT INTO users (id, username, created_at, updated_at) VALUES (?1, 'a', 0, 0)";
        store.write(move |transaction| transaction.execute(user, values![uuid::Uuid::nil()])).await.unwrap();
        store.close().await;
        if database.name != "memory" {
            let again = database.open().await;
            let users =
                again.read(|transaction| transaction.row("SELECT count(*) FROM users", &[], |row| row.get::<i64>(0)));
            assert_eq!(users.await, Ok(Some(1)), "{}", database.name);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_applied_migration_with_another_checksum_is_refused() {
    for database in durable() {
        let store = database.open().await;
        let change = "UPDATE schema_migrations SET checksum = 'other'";
        store.write(move |transaction| transaction.execute(change, &[])).await.unwrap();
        store.close().await;
        let refused = open(&database.settings()).await.err().unwrap();
        assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
        assert!(refused.to_string().contains("differs"), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_a_newer_version_is_refused() {
    for database in durable() {
        let store = database.open().await;
        let insert = "INSERT INTO schema_migrations (version, name, checksum) VALUES (999, 'later', '')";
        store.write(move |transaction| transaction.execute(insert, &[])).await.unwrap();
        store.close().await;
        let refused = open(&database.settings()).await.err().unwrap();
        assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
        assert!(refused.to_string().contains("migration 999"), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_migrate_an_old_database_is_refused_and_not_changed() {
    for database in durable() {
        let settings = StoreSettings { migrate: false, ..database.settings() };
        let refused = open(&settings).await.err().unwrap();
        assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
        assert!(refused.to_string().contains("aether migrate"), "{refused}");
        let status = Store::inspect(&settings, &Registry::new()).await.unwrap();
        assert_eq!((status.applied.len(), status.pending.len()), (0, ALL.len()), "{}", database.name);
        database.open().await.close().await;
        let status = Store::inspect(&settings, &Registry::new()).await.unwrap();
        assert_eq!((status.applied.len(), status.pending.len()), (ALL.len(), 0), "{}", database.name);
        open(&settings).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn inspecting_a_missing_file_does_not_create_it() {
    let database = file();
    let status = Store::inspect(&database.settings(), &Registry::new()).await.unwrap();
    assert_eq!(status.pending.len(), ALL.len());
    let aether_store::Database::File(path) = &database.database else { unreachable!() };
    assert!(!path.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_start_at_once_migrate_a_database_once() {
    let Some(database) = postgres() else { return };
    let settings = database.settings();
    let registries = [(); 4].map(|()| Registry::new());
    let starts = registries.iter().map(|registry| Store::open(&settings, registry));
    for store in futures_util::future::join_all(starts).await {
        assert_eq!(store.unwrap().migration_status().await.unwrap().applied, ALL);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_on_the_same_file_is_refused_until_the_first_has_closed_it() {
    let database = file();
    let store = database.open().await;
    let refused = open(&database.settings()).await.err().unwrap();
    assert!(refused.to_string().contains("in use by another server"), "{refused}");
    store.close().await;
    database.open().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_a_database_is_refused() {
    let database = file();
    let aether_store::Database::File(path) = &database.database else { unreachable!() };
    std::fs::write(path, "some text, not a database, and long enough to be read".repeat(100)).unwrap();
    let refused = open(&database.settings()).await.err().unwrap();
    assert!(refused.to_string().contains("Cannot open"), "{refused}");
    let unreachable_database =
        StoreSettings::new(aether_store::Database::Postgres("postgres://postgres@127.0.0.1:1/none".to_owned()));
    let refused = open(&unreachable_database).await.err().unwrap();
    assert!(matches!(&refused, StoreError::Unavailable(why) if why.contains("127.0.0.1:1")), "{refused:?}");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn other_users_of_the_machine_cannot_read_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let database = file();
    let store = database.open().await;
    store.ping().await.unwrap();
    let aether_store::Database::File(path) = &database.database else { unreachable!() };
    for suffix in ["", "-wal", "-shm"] {
        let path = format!("{}{suffix}", path.display());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn close_within_waits_for_other_handles() {
    let database = file();
    let store = database.open().await;
    let handle = store.clone();
    assert!(!handle.clone().close_within(Duration::from_millis(50)).await, "another handle exists");
    let dropping = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(handle);
    });
    assert!(store.close_within(Duration::from_secs(30)).await, "the other handle was dropped");
    dropping.await.unwrap();
}
