//! Databases whose file was lost, emptied or truncated.

use aether_metrics::Registry;
use aether_store::{Store, StoreError, values};
use aether_testkit_store::{TestDatabase, file};
use std::path::{Path, PathBuf};

/// Creates a database with a user, and closes it.
async fn used() -> (TestDatabase, PathBuf) {
    let database = file();
    let aether_store::Database::File(path) = &database.database else { unreachable!() };
    let path = path.clone();
    let store = database.open().await;
    let user = "INSERT INTO users (id, username, created_at, updated_at) VALUES (?1, 'a', 0, 0)";
    store.write(move |transaction| transaction.execute(user, values![uuid::Uuid::nil()])).await.unwrap();
    store.close().await;
    (database, path)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

/// Expects every way of opening the database to fail, and the file to stay as it is. Returns the sentence.
async fn refused(database: &TestDatabase, path: &Path) -> String {
    let before = std::fs::read(path).ok();
    let (settings, registry) = (database.settings(), Registry::new());
    let error = Store::open(&settings, &registry).await.err().expect("the loss is reported");
    assert!(matches!(error, StoreError::Refused(_)), "{error:?}");
    assert!(Store::open_for_reading(&settings, &registry).await.is_err());
    assert!(Store::inspect(&settings, &registry).await.is_err());
    assert_eq!(std::fs::read(path).ok(), before, "nothing was written");
    error.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_or_missing_file_is_reported_if_it_had_content() {
    let (database, path) = used().await;
    let content = std::fs::read(&path).unwrap();
    std::fs::write(&path, "").unwrap();
    assert!(refused(&database, &path).await.contains("had content before"));
    std::fs::remove_file(&path).unwrap();
    let sentence = refused(&database, &path).await;
    assert!(sentence.contains("aether.db.created"), "{sentence}");
    std::fs::write(&path, content).unwrap();
    let store = database.open().await;
    let users = store.read(|transaction| transaction.row("SELECT count(*) FROM users", &[], |row| row.get::<i64>(0)));
    assert_eq!(users.await, Ok(Some(1)), "the file is back");
    store.close().await;
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(beside(&path, ".created")).unwrap();
    database.open().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_file_is_reported() {
    let (database, path) = used().await;
    let content = std::fs::read(&path).unwrap();
    for length in [1, 99, 100, 511, 512, 4_095, 4_096, 8_192, content.len() / 2, content.len() - 1] {
        std::fs::write(&path, &content[..length]).unwrap();
        let opened = Store::open(&database.settings(), &Registry::new()).await;
        assert!(opened.is_err(), "{length} of {} bytes", content.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_beside_an_empty_file_is_not_removed() {
    let (database, path) = used().await;
    std::fs::write(&path, "").unwrap();
    std::fs::remove_file(beside(&path, ".created")).unwrap();
    let journal = beside(&path, "-wal");
    std::fs::write(&journal, "commits of an hour").unwrap();
    assert!(refused(&database, &path).await.contains("aether.db-wal"));
    assert_eq!(std::fs::read(&journal).unwrap(), b"commits of an hour");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_tables_is_reported_if_it_had_content() {
    let (database, path) = used().await;
    let store = database.open().await;
    let drop_all = |transaction: &mut aether_store::Transaction<'_>| {
        transaction.execute("PRAGMA defer_foreign_keys = ON", &[])?;
        let names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        // Later tables reference earlier ones.
        for name in transaction.rows(names, &[], |row| row.get::<String>(0))?.into_iter().rev() {
            transaction.execute(&format!("DROP TABLE {name}"), &[])?;
        }
        Ok::<_, StoreError>(())
    };
    store.write(drop_all).await.unwrap();
    store.close().await;
    let error = Store::open(&database.settings(), &Registry::new()).await.err().expect("the loss is reported");
    assert!(error.to_string().contains("had content before"), "{error}");
    assert!(path.exists());
}
