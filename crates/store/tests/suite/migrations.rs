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

/// Statements that undo the migration of names.
const BEFORE_NAMES: [&str; 8] = [
    "DROP INDEX users_by_skeleton",
    "DROP INDEX users_by_folded",
    "ALTER TABLE users DROP COLUMN username_skeleton",
    "ALTER TABLE users DROP COLUMN username_folded",
    "ALTER TABLE users DROP COLUMN session_kept",
    "ALTER TABLE users DROP COLUMN custom_id_at",
    "ALTER TABLE rooms DROP COLUMN is_private",
    "DELETE FROM schema_migrations WHERE version = 6",
];

#[tokio::test(flavor = "multi_thread")]
async fn names_of_an_older_database_get_keys_also_if_they_look_alike() {
    // More than one batch, and two pairs of look-alikes.
    let names = |number: u128| match number {
        7 => "Paypal".to_owned(),
        900 => "p\u{430}yp\u{430}l".to_owned(),
        8 => "Ira".to_owned(),
        901 => "ira".to_owned(),
        number => format!("player {number}"),
    };
    for database in durable() {
        let store = database.open().await;
        for undo in BEFORE_NAMES {
            store.write(move |transaction| transaction.execute(undo, &[])).await.unwrap();
        }
        let filled = store.write(move |transaction| {
            for number in 0..1_100 {
                let insert = "INSERT INTO users (id, username, created_at, updated_at) VALUES (?1, ?2, ?3, 0)";
                let id = uuid::Uuid::from_u128(number + 1);
                transaction.execute(insert, values![id, &names(number), number as i64])?;
            }
            Ok::<_, StoreError>(())
        });
        filled.await.unwrap();
        store.close().await;
        let store = database.open().await;
        let keys = "SELECT username, username_skeleton, username_folded FROM users
            WHERE username_skeleton IS NULL OR username_folded IS NULL OR created_at IN (7, 8) ORDER BY created_at";
        let read = store.read(move |transaction| {
            transaction.rows(keys, &[], |row| {
                Ok((row.get::<String>(0)?, row.get::<Option<String>>(1)?, row.get::<Option<String>>(2)?))
            })
        });
        let key = |text: &str| Some(text.to_owned());
        let expected = [
            ("Paypal".to_owned(), key("paypal"), key("paypal")),
            ("Ira".to_owned(), key("lra"), key("ira")),
            ("p\u{430}yp\u{430}l".to_owned(), None, None),
            ("ira".to_owned(), key("ira"), None),
        ];
        assert_eq!(read.await.unwrap(), expected, "{}: the older names have the keys", database.name);
        let insert = "INSERT INTO users (id, username, username_skeleton, created_at, updated_at)
            VALUES (?1, 'new', 'paypal', 0, 0)";
        let taken = store.write(move |transaction| transaction.execute(insert, values![uuid::Uuid::from_u128(5_000)]));
        assert!(matches!(taken.await, Err(StoreError::Duplicate(_))), "{}", database.name);
    }
}
