//! Commits and rollbacks.

use crate::{count, counter, insert, on_each};
use aether_metrics::Registry;
use aether_store::{Store, StoreError, StoreSettings, values};
use aether_testkit_store::{databases, file, memory};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use tokio::task::JoinSet;

/// Error type of an operation.
#[derive(Debug, PartialEq)]
enum OperationError {
    Rejected,
    Store(StoreError),
}

impl From<StoreError> for OperationError {
    fn from(error: StoreError) -> Self {
        OperationError::Store(error)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledged_write_is_stored() {
    on_each(async |name, store| {
        assert_eq!(insert(&store, 1, 10).await, Ok(1), "{name}");
        assert_eq!(counter(&store, 1).await, Some(10), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_returns_an_error_is_rolled_back() {
    on_each(async |name, store| {
        let acted = Arc::new(AtomicBool::new(false));
        let within = Arc::clone(&acted);
        let outcome: Result<(), OperationError> = store
            .write(move |transaction| {
                transaction.execute("INSERT INTO counters (id, value) VALUES (1, 1)", &[])?;
                let acted = Arc::clone(&within);
                transaction.after_commit(move || acted.store(true, Ordering::SeqCst));
                Err(OperationError::Rejected)
            })
            .await;
        assert_eq!(outcome, Err(OperationError::Rejected), "{name}");
        assert!(!acted.load(Ordering::SeqCst), "{name}");
        assert_eq!(count(&store).await, 0, "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_panics_is_rolled_back_and_the_next_one_works() {
    on_each(async |name, store| {
        let outcome: Result<(), StoreError> = store
            .write(|transaction| {
                transaction.execute("INSERT INTO counters (id, value) VALUES (1, 1)", &[])?;
                panic!("deliberate")
            })
            .await;
        assert!(matches!(outcome, Err(StoreError::Failed(_))), "{name}: {outcome:?}");
        let outcome: Result<(), StoreError> = store.read(|_| panic!("deliberate")).await;
        assert!(matches!(outcome, Err(StoreError::Failed(_))), "{name}: {outcome:?}");
        assert_eq!(count(&store).await, 0, "{name}");
        // On all threads, not only on the one that panicked.
        for id in 0..20 {
            assert_eq!(insert(&store, id, 0).await, Ok(1), "{name}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_ignores_a_failed_statement_is_rolled_back() {
    on_each(async |name, store| {
        insert(&store, 1, 1).await.unwrap();
        let outcome: Result<(), StoreError> = store
            .write(|transaction| {
                transaction.execute("INSERT INTO counters (id, value) VALUES (2, 2)", &[])?;
                let _ = transaction.execute("INSERT INTO counters (id, value) VALUES (1, 1)", &[]);
                Ok(())
            })
            .await;
        assert_eq!(outcome, Err(StoreError::Duplicate("counters.id".to_owned())), "{name}");
        assert_eq!(count(&store).await, 1, "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_key_is_reported_with_its_columns() {
    on_each(async |name, store| {
        insert(&store, 1, 1).await.unwrap();
        assert_eq!(insert(&store, 1, 2).await, Err(StoreError::Duplicate("counters.id".to_owned())), "{name}");
        let user = "INSERT INTO users (id, username, created_at, updated_at) VALUES (?1, 'same', 0, 0)";
        let add =
            async || store.write(move |transaction| transaction.execute(user, values![uuid::Uuid::new_v4()])).await;
        assert_eq!(add().await, Ok(1), "{name}");
        assert_eq!(add().await, Err(StoreError::Duplicate("users.username".to_owned())), "{name}");
        let profile = "INSERT INTO profiles (user_id, id, name, created_at, updated_at)
            SELECT id, 'first', 'name', 0, 0 FROM users";
        let add = async || store.write(move |transaction| transaction.execute(profile, &[])).await;
        assert_eq!(add().await, Ok(1), "{name}");
        assert_eq!(add().await, Err(StoreError::Duplicate("profiles.user_id, profiles.id".to_owned())), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_constraints_are_not_reported_as_duplicates() {
    on_each(async |name, store| {
        let nobody = "INSERT INTO user_devices (id, user_id, created_at) VALUES ('device', ?1, 0)";
        let outcome = store.write(move |transaction| transaction.execute(nobody, values![uuid::Uuid::nil()])).await;
        assert!(matches!(outcome, Err(StoreError::Failed(_))), "{name}: {outcome:?}");
        let nothing = "INSERT INTO counters (id, value) VALUES (1, NULL)";
        let outcome = store.write(move |transaction| transaction.execute(nothing, &[])).await;
        assert!(matches!(outcome, Err(StoreError::Failed(_))), "{name}: {outcome:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_commit_actions_run_in_order_and_before_the_answer() {
    on_each(async |name, store| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        for number in 0..3 {
            let within = Arc::clone(&seen);
            let written = store.write(move |transaction| {
                transaction.execute("INSERT INTO counters (id, value) VALUES (?1, 0)", values![number])?;
                for step in ["first", "second"] {
                    let within = Arc::clone(&within);
                    transaction.after_commit(move || within.lock().unwrap().push((number, step)));
                }
                Ok::<_, StoreError>(())
            });
            written.await.unwrap();
            assert_eq!(seen.lock().unwrap().last(), Some(&(number, "second")), "{name}");
        }
        let expected = (0..3).flat_map(|number| [(number, "first"), (number, "second")]).collect::<Vec<_>>();
        assert_eq!(*seen.lock().unwrap(), expected, "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_an_after_commit_action_ends_no_thread() {
    on_each(async |name, store| {
        for id in 0..20 {
            let outcome: Result<(), StoreError> = store
                .write(move |transaction| {
                    transaction.execute("INSERT INTO counters (id, value) VALUES (?1, 0)", values![id])?;
                    transaction.after_commit(|| panic!("deliberate"));
                    Ok(())
                })
                .await;
            assert_eq!(outcome, Ok(()), "{name}");
        }
        assert_eq!(count(&store).await, 20, "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_continues_when_its_caller_is_dropped() {
    on_each(async |name, store| {
        let (began, has_begun) = mpsc::channel();
        let (go_on, gone_on) = mpsc::channel();
        let gone_on = Mutex::new(gone_on);
        let within = store.clone();
        let caller = tokio::spawn(async move {
            let operation = within.write(move |transaction| {
                began.send(()).unwrap();
                gone_on.lock().unwrap().recv().unwrap();
                transaction.execute("INSERT INTO counters (id, value) VALUES (1, 1)", &[])
            });
            operation.await
        });
        tokio::task::block_in_place(|| has_begun.recv().unwrap());
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled(), "{name}");
        go_on.send(()).unwrap();
        let deadline = std::time::Instant::now() + crate::DEADLINE;
        while counter(&store, 1).await.is_none() {
            assert!(std::time::Instant::now() < deadline, "{name}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queued_operations_finish_before_the_store_closes() {
    for database in [file()].into_iter().chain(aether_testkit_store::postgres()) {
        let store = database.open().await;
        crate::make_counters(&store).await;
        let mut waiting = JoinSet::new();
        for id in 0..100 {
            let within = store.clone();
            waiting.spawn(async move { insert(&within, id, 0).await });
        }
        store.close().await;
        let answers = waiting.join_all().await;
        assert!(answers.iter().all(|answer| *answer == Ok(1)), "{}", database.name);
        assert_eq!(count(&database.open().await).await, 100, "{}", database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_operations_share_a_commit_on_sqlite() {
    for database in [memory(), file()] {
        let registry = Registry::new();
        let store = database.open_with(&registry).await;
        crate::make_counters(&store).await;
        let (go_on, gone_on) = mpsc::channel::<()>();
        let gone_on = Mutex::new(gone_on);
        let (begin, mut begun) = tokio::sync::mpsc::channel(1);
        let blocker = {
            let store = store.clone();
            tokio::spawn(async move {
                let operation = store.write(move |_| {
                    let _ = begin.try_send(());
                    let _ = gone_on.lock().unwrap().recv();
                    Ok::<_, StoreError>(())
                });
                operation.await
            })
        };
        // An operation before this one would have its own commit.
        begun.recv().await.expect("the writer is blocked");
        let before = batches(&registry);
        let mut callers = JoinSet::new();
        for id in 0..100 {
            let store = store.clone();
            callers.spawn(async move { insert(&store, id, 0).await });
        }
        let deadline = std::time::Instant::now() + crate::DEADLINE;
        while value(&registry, "aether_database_queue_length") < 100.0 {
            assert!(std::time::Instant::now() < deadline, "{}", database.name);
            tokio::task::yield_now().await;
        }
        go_on.send(()).unwrap();
        assert!(callers.join_all().await.iter().all(|answer| *answer == Ok(1)));
        blocker.await.unwrap().unwrap();
        let (commits, operations) = batches(&registry);
        assert_eq!(operations - before.1, 101.0, "{}", database.name);
        // A batch takes no further operations after some time, so a slow machine needs more than one commit.
        assert!(commits - before.0 <= 20.0, "{}: {} commits", database.name, commits - before.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_operation_does_not_roll_back_the_others_of_its_commit() {
    on_each(async |name, store| {
        let mut callers = JoinSet::new();
        for id in 0..60 {
            let store = store.clone();
            // Two of three use a taken id.
            callers.spawn(async move { insert(&store, id / 3, id).await.is_ok() });
        }
        let committed = callers.join_all().await.into_iter().filter(|committed| *committed).count();
        assert_eq!((committed, count(&store).await), (20, 20), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_beyond_the_queue_limit_are_rejected_at_once_and_not_run() {
    for database in databases() {
        let settings = StoreSettings { connections: 1, ..database.settings() };
        let store = Store::open(&settings, &Registry::new()).await.unwrap();
        let (began, has_begun) = mpsc::channel();
        let (go_on, gone_on) = mpsc::channel::<()>();
        let gone_on = Mutex::new(gone_on);
        let done = Arc::new(AtomicUsize::new(0));
        let mut callers = JoinSet::new();
        let holding = store.clone();
        let holder = tokio::spawn(async move {
            let operation = holding.write(move |_| {
                began.send(()).unwrap();
                let _ = gone_on.lock().unwrap().recv();
                Ok::<_, StoreError>(())
            });
            operation.await
        });
        tokio::task::block_in_place(|| has_begun.recv().unwrap());
        for _ in 0..5_000 {
            let (store, done) = (store.clone(), Arc::clone(&done));
            callers.spawn(async move {
                let operation = store.write(move |_| {
                    done.fetch_add(1, Ordering::SeqCst);
                    Ok::<_, StoreError>(())
                });
                operation.await
            });
        }
        // They are rejected while the thread is still busy.
        for _ in 0..5_000 - 4_096 {
            let refused = callers.join_next().await.unwrap().unwrap();
            assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{}: {refused:?}", database.name);
        }
        go_on.send(()).unwrap();
        holder.await.unwrap().unwrap();
        let committed = callers.join_all().await.into_iter().filter(Result::is_ok).count();
        assert_eq!((committed, done.load(Ordering::SeqCst)), (4_096, 4_096), "{}", database.name);
    }
}

/// Returns the number of commits and of the operations in them.
fn batches(registry: &Registry) -> (f64, f64) {
    let name = "aether_database_commit_operations";
    (value(registry, &format!("{name}_count")), value(registry, &format!("{name}_sum")))
}

fn value(registry: &Registry, name: &str) -> f64 {
    let text = registry.render();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    line.unwrap_or_else(|| panic!("{name} is not in\n{text}"))
}
