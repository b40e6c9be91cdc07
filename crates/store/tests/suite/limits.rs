//! Time limits of operations.

use crate::{count, insert};
use aether_metrics::Registry;
use aether_store::{Dialect, Store, StoreError, StoreSettings};
use aether_testkit_store::{databases, file, memory};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Counts to a number that takes hours.
const ENDLESS: &str = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers
    WHERE n < 2000000000) SELECT count(*) FROM numbers";

async fn open_with_short_limit(database: &aether_testkit_store::TestDatabase) -> Store {
    // Long enough for the migrations on a busy machine.
    let settings = StoreSettings { operation_time_max: Duration::from_secs(1), ..database.settings() };
    let store = Store::open(&settings, &Registry::new()).await.unwrap();
    crate::make_counters(&store).await;
    store
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_over_its_time_limit_is_rolled_back() {
    for database in databases() {
        let (name, store) = (database.name, open_with_short_limit(&database).await);
        let began = Instant::now();
        let read = store.read(|transaction| transaction.row(ENDLESS, &[], |_| Ok(()))).await;
        assert!(matches!(read, Err(StoreError::Unavailable(_))), "{name}: {read:?}");
        let snapshot = store.snapshot(|transaction| transaction.row(ENDLESS, &[], |_| Ok(()))).await;
        assert!(matches!(snapshot, Err(StoreError::Unavailable(_))), "{name}: {snapshot:?}");
        let written: Result<(), StoreError> = store
            .write(|transaction| {
                transaction.execute("INSERT INTO counters (id, value) VALUES (1, 1)", &[])?;
                transaction.row(ENDLESS, &[], |_| Ok(())).map(|_| ())
            })
            .await;
        assert!(matches!(written, Err(StoreError::Unavailable(_))), "{name}: {written:?}");
        let changed = store
            .write(|transaction| {
                transaction
                    .execute(&format!("INSERT INTO counters (id, value) SELECT 2, n FROM ({ENDLESS}) AS x (n)"), &[])
            })
            .await;
        assert!(changed.is_err(), "{name}: {changed:?}");
        assert!(began.elapsed() < crate::DEADLINE, "{name}");
        assert_eq!(count(&store).await, 0, "{name}");
        insert(&store, 1, 1).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_limit_covers_all_statements_of_an_operation() {
    for database in databases() {
        let (name, store) = (database.name, open_with_short_limit(&database).await);
        let numbers = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers
            WHERE n < 20000) SELECT count(*) FROM numbers";
        let outcome: Result<(), StoreError> = store
            .read(move |transaction| {
                loop {
                    transaction.row(numbers, &[], |_| Ok(()))?;
                }
            })
            .await;
        assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{name}: {outcome:?}");
        store.ping().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_that_share_a_commit_with_a_timed_out_one_get_correct_results() {
    for database in [memory(), file()] {
        let (name, store) = (database.name, open_with_short_limit(&database).await);
        let mut callers = JoinSet::new();
        for id in 0..40 {
            let store = store.clone();
            callers.spawn(async move {
                match id {
                    20 => {
                        let endless = format!("UPDATE counters SET value = ({ENDLESS})");
                        (id, store.write(move |transaction| transaction.execute(&endless, &[])).await)
                    }
                    _ => (id, insert(&store, id, 0).await),
                }
            });
        }
        let answers = callers.join_all().await;
        let committed = answers.iter().filter(|(id, answer)| *id != 20 && answer.is_ok()).count() as i64;
        assert_eq!(count(&store).await, committed, "{name}");
        assert_eq!(insert(&store, 100, 0).await, Ok(1), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_a_lock_is_limited() {
    let Some(database) = aether_testkit_store::postgres() else { return };
    let store = open_with_short_limit(&database).await;
    insert(&store, 1, 0).await.unwrap();
    let (began, has_begun) = std::sync::mpsc::channel();
    let (go_on, gone_on) = std::sync::mpsc::channel();
    let gone_on = std::sync::Mutex::new(gone_on);
    let holding = store.clone();
    let holder = tokio::spawn(async move {
        let operation = holding.write(move |transaction| {
            assert_eq!(transaction.dialect(), Dialect::Postgres);
            transaction.execute("UPDATE counters SET value = 1", &[])?;
            began.send(()).unwrap();
            gone_on.lock().unwrap().recv().unwrap();
            Ok::<_, StoreError>(())
        });
        operation.await
    });
    tokio::task::block_in_place(|| has_begun.recv().unwrap());
    let waiting = store.write(|transaction| transaction.execute("UPDATE counters SET value = 2", &[])).await;
    assert!(matches!(waiting, Err(StoreError::Unavailable(_))), "{waiting:?}");
    go_on.send(()).unwrap();
    holder.await.unwrap().unwrap();
    assert_eq!(crate::counter(&store, 1).await, Some(1));
}
