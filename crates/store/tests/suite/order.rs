//! Concurrent operations: order, conflicts, retries.

use crate::{counter, insert, on_each};
use aether_metrics::Registry;
use aether_store::{Store, StoreError, StoreSettings, values};
use aether_testkit_store::postgres;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use tokio::task::JoinSet;

/// Adds one to a counter by reading and then writing it.
fn increment(transaction: &mut aether_store::Transaction<'_>, id: i64) -> Result<i64, StoreError> {
    let select = format!("SELECT value FROM counters WHERE id = ?1{}", transaction.for_update());
    let value = transaction.row(&select, values![id], |row| row.get::<i64>(0))?.unwrap_or_default() + 1;
    transaction.execute("UPDATE counters SET value = ?2 WHERE id = ?1", values![id, value])?;
    Ok(value)
}

#[tokio::test(flavor = "multi_thread")]
async fn ordered_operations_change_memory_in_the_order_of_their_commits() {
    on_each(async |name, store| {
        insert(&store, 1, 0).await.unwrap();
        let memory = Arc::new(AtomicI64::new(0));
        let disorder = Arc::new(AtomicUsize::new(0));
        let mut callers = JoinSet::new();
        for _ in 0..50 {
            let (store, memory, disorder) = (store.clone(), Arc::clone(&memory), Arc::clone(&disorder));
            callers.spawn(async move {
                for _ in 0..10 {
                    let within = (Arc::clone(&memory), Arc::clone(&disorder));
                    let operation = store.write_in_order(7, move |transaction| {
                        let value = increment(transaction, 1)?;
                        let (memory, disorder) = within.clone();
                        transaction.after_commit(move || {
                            // Memory has the value of the previous commit.
                            if memory.swap(value, Ordering::SeqCst) != value - 1 {
                                disorder.fetch_add(1, Ordering::SeqCst);
                            }
                        });
                        Ok::<_, StoreError>(value)
                    });
                    let value = operation.await.unwrap();
                    assert!(memory.load(Ordering::SeqCst) >= value);
                }
            });
        }
        callers.join_all().await;
        assert_eq!(disorder.load(Ordering::SeqCst), 0, "{name}");
        assert_eq!(memory.load(Ordering::SeqCst), 500, "{name}");
        assert_eq!(counter(&store, 1).await, Some(500), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_ordered_operation_does_not_block_the_next() {
    on_each(async |name, store| {
        insert(&store, 1, 0).await.unwrap();
        let mut callers = JoinSet::new();
        for number in 0..60 {
            let store = store.clone();
            callers.spawn(async move {
                let operation = store.write_in_order(7, move |transaction| match number % 3 {
                    0 => panic!("deliberate"),
                    1 => Err(StoreError::Refused("no".to_owned())),
                    _ => increment(transaction, 1),
                });
                operation.await.is_ok()
            });
        }
        let committed = callers.join_all().await.into_iter().filter(|committed| *committed).count();
        assert_eq!((committed, counter(&store, 1).await), (20, Some(20)), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_ordered_operations_do_not_block_others_on_postgresql() {
    let Some(database) = postgres() else { return };
    let settings = StoreSettings { connections: 2, ..database.settings() };
    let store = Store::open(&settings, &Registry::new()).await.unwrap();
    let (began, has_begun) = mpsc::channel();
    let barrier = Arc::new(Barrier::new(2));
    let mut callers = JoinSet::new();
    for _ in 0..20 {
        let (store, began, barrier) = (store.clone(), began.clone(), Arc::clone(&barrier));
        callers.spawn(async move {
            let operation = store.write_in_order(7, move |_| {
                began.send(()).unwrap();
                barrier.wait();
                Ok::<_, StoreError>(())
            });
            operation.await.unwrap();
        });
    }
    for _ in 0..20 {
        tokio::task::block_in_place(|| has_begun.recv().unwrap());
        // One of two connections is in use; the other ordered operations wait without one.
        store.ping().await.unwrap();
        tokio::task::block_in_place(|| barrier.wait());
    }
    callers.join_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_update_is_lost_among_concurrent_ones() {
    on_each(async |name, store| {
        insert(&store, 1, 0).await.unwrap();
        let mut callers = JoinSet::new();
        for _ in 0..20 {
            let store = store.clone();
            callers.spawn(async move {
                for _ in 0..10 {
                    store.write(|transaction| increment(transaction, 1)).await.unwrap();
                }
            });
        }
        callers.join_all().await;
        assert_eq!(counter(&store, 1).await, Some(200), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deadlocked_operations_are_retried_until_all_have_succeeded() {
    let Some(database) = postgres() else { return };
    let registry = Registry::new();
    let store = Store::open(&database.settings(), &registry).await.unwrap();
    crate::make_counters(&store).await;
    insert(&store, 1, 0).await.unwrap();
    insert(&store, 2, 0).await.unwrap();
    for _ in 0..4 {
        let met = Arc::new(Barrier::new(2));
        let runs = Arc::new(AtomicUsize::new(0));
        let pair = [(1, 2), (2, 1)].map(|(first, second)| {
            let (store, met, runs) = (store.clone(), Arc::clone(&met), Arc::clone(&runs));
            tokio::spawn(async move {
                let operation = store.write(move |transaction| {
                    increment(transaction, first)?;
                    // On the first run, each continues only when the other has its first lock too.
                    if runs.fetch_add(1, Ordering::SeqCst) < 2 {
                        met.wait();
                    }
                    increment(transaction, second)
                });
                operation.await
            })
        });
        for caller in pair {
            caller.await.unwrap().unwrap();
        }
    }
    assert_eq!((counter(&store, 1).await, counter(&store, 2).await), (Some(8), Some(8)));
    let text = registry.render();
    let retries = text.lines().find_map(|line| line.strip_prefix("aether_database_retries_total ")).unwrap();
    assert!(retries.parse::<f64>().unwrap() >= 4.0, "{retries}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_conditional_changes_have_one_winner() {
    on_each(async |name, store| {
        insert(&store, 1, 0).await.unwrap();
        let mut callers = JoinSet::new();
        for number in 1..=100 {
            let store = store.clone();
            callers.spawn(async move {
                let update = "UPDATE counters SET value = ?1 WHERE id = 1 AND value = 0";
                store.write(move |transaction| transaction.execute(update, values![number])).await.unwrap()
            });
        }
        let winners: u64 = callers.join_all().await.into_iter().sum();
        assert_eq!(winners, 1, "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_sees_one_moment_while_others_write() {
    on_each(async |name, store| {
        insert(&store, 1, 0).await.unwrap();
        insert(&store, 2, 0).await.unwrap();
        let writing = store.clone();
        let writer = tokio::spawn(async move {
            for _ in 0..200 {
                let both = "UPDATE counters SET value = value + 1";
                writing.write(move |transaction| transaction.execute(both, &[])).await.unwrap();
            }
        });
        let mut last = 0;
        while last < 200 {
            let select = "SELECT value FROM counters WHERE id = ?1";
            let seen = store.snapshot(move |transaction| {
                let first = transaction.row(select, values![1], |row| row.get::<i64>(0))?;
                let second = transaction.row(select, values![2], |row| row.get::<i64>(0))?;
                Ok::<_, StoreError>((first, second))
            });
            let (first, second) = seen.await.unwrap();
            assert_eq!(first, second, "{name}");
            last = first.unwrap();
        }
        writer.await.unwrap();
    })
    .await;
}
