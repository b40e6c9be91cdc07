//! What is kept, and what is not.

use crate::{count, counter, insert, on_each};
use aether_metrics::Registry;
use aether_store::{Store, StoreError, StoreSettings, values};
use aether_testkit_store::{databases, file, memory};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use tokio::task::JoinSet;

/// An operation's own error.
#[derive(Debug, PartialEq)]
enum Refusal {
    Own,
    Store(StoreError),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Refusal::Store(error)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_with_success_is_there() {
    on_each(async |name, store| {
        assert_eq!(insert(&store, 1, 10).await, Ok(1), "{name}");
        assert_eq!(counter(&store, 1).await, Some(10), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_refuses_leaves_nothing() {
    on_each(async |name, store| {
        let acted = Arc::new(AtomicBool::new(false));
        let within = Arc::clone(&acted);
        let outcome: Result<(), Refusal> = store
            .write(move |transaction| {
                transaction.execute("INSERT INTO counters (id, value) VALUES (1, 1)", &[])?;
                let acted = Arc::clone(&within);
                transaction.after_commit(move || acted.store(true, Ordering::SeqCst));
                Err(Refusal::Own)
            })
            .await;
        assert_eq!(outcome, Err(Refusal::Own), "{name}");
        assert!(!acted.load(Ordering::SeqCst), "{name}");
        assert_eq!(count(&store).await, 0, "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_panics_leaves_nothing_and_the_next_one_works() {
    on_each(async |name, store| {
        let outcome: Result<(), StoreError> = store
            .write(|transaction| {
                transaction.execute("INSERT INTO counters (id, value) VALUES (1, 1)", &[])?;
                panic!("a defect")
            })
            .await;
        assert!(matches!(outcome, Err(StoreError::Failed(_))), "{name}: {outcome:?}");
        let outcome: Result<(), StoreError> = store.read(|_| panic!("a defect")).await;
        assert!(matches!(outcome, Err(StoreError::Failed(_))), "{name}: {outcome:?}");
        assert_eq!(count(&store).await, 0, "{name}");
        // Each of the threads, not only the one that it happened to.
        for id in 0..20 {
            assert_eq!(insert(&store, id, 0).await, Ok(1), "{name}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_passes_over_a_failed_statement_is_not_kept() {
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
async fn a_key_that_is_there_already_is_named_by_its_columns() {
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
async fn another_constraint_is_no_duplicate() {
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
async fn what_is_to_be_done_after_the_commit_is_done_in_order_and_before_the_answer() {
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
async fn a_panic_after_the_commit_ends_no_thread() {
    on_each(async |name, store| {
        for id in 0..20 {
            let outcome: Result<(), StoreError> = store
                .write(move |transaction| {
                    transaction.execute("INSERT INTO counters (id, value) VALUES (?1, 0)", values![id])?;
                    transaction.after_commit(|| panic!("a defect"));
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
async fn an_operation_goes_on_when_its_caller_goes_away() {
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
async fn what_waits_when_the_store_is_dropped_is_done_first() {
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
async fn callers_that_come_at_once_share_a_commit_on_sqlite() {
    for database in [memory(), file()] {
        let registry = Registry::new();
        let store = database.open_with(&registry).await;
        crate::make_counters(&store).await;
        let (go_on, gone_on) = mpsc::channel::<()>();
        let gone_on = Mutex::new(gone_on);
        let (begin, mut begun) = tokio::sync::mpsc::channel(1);
        let held = {
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
        // A caller that came before it would have a commit of its own.
        begun.recv().await.expect("the writer is held");
        let before = batches(&registry);
        let mut callers = JoinSet::new();
        for id in 0..100 {
            let store = store.clone();
            callers.spawn(async move { insert(&store, id, 0).await });
        }
        let deadline = std::time::Instant::now() + crate::DEADLINE;
        while value(&registry, "aether_database_waiting") < 100.0 {
            assert!(std::time::Instant::now() < deadline, "{}", database.name);
            tokio::task::yield_now().await;
        }
        go_on.send(()).unwrap();
        assert!(callers.join_all().await.iter().all(|answer| *answer == Ok(1)));
        held.await.unwrap().unwrap();
        let (commits, operations) = batches(&registry);
        assert_eq!((commits - before.0, operations - before.1), (1.0, 101.0), "{}", database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_caller_that_fails_does_not_take_the_others_of_its_commit_along() {
    on_each(async |name, store| {
        let mut callers = JoinSet::new();
        for id in 0..60 {
            let store = store.clone();
            // Two of three try to use the number of another.
            callers.spawn(async move { insert(&store, id / 3, id).await.is_ok() });
        }
        let kept = callers.join_all().await.into_iter().filter(|kept| *kept).count();
        assert_eq!((kept, count(&store).await), (20, 20), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_that_wait_are_refused_at_once_and_none_of_them_is_done() {
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
        // Whoever is refused is so while the thread is still busy.
        for _ in 0..5_000 - 4_096 {
            let refused = callers.join_next().await.unwrap().unwrap();
            assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{}: {refused:?}", database.name);
        }
        go_on.send(()).unwrap();
        holder.await.unwrap().unwrap();
        let kept = callers.join_all().await.into_iter().filter(Result::is_ok).count();
        assert_eq!((kept, done.load(Ordering::SeqCst)), (4_096, 4_096), "{}", database.name);
    }
}

/// Commits, and the operations in them.
fn batches(registry: &Registry) -> (f64, f64) {
    let name = "aether_database_commit_operations";
    (value(registry, &format!("{name}_count")), value(registry, &format!("{name}_sum")))
}

fn value(registry: &Registry, name: &str) -> f64 {
    let text = registry.render();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    line.unwrap_or_else(|| panic!("{name} is among\n{text}"))
}
