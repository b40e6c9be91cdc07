//! Operations whose statements are known, on connections that callers share.

use crate::{DEADLINE, count, counter, insert, make_counters, on_each};
use aether_metrics::Registry;
use aether_store::{Dialect, Statements, Store, StoreError, values};
use aether_testkit_store::{cluster, postgres, postgres_at};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use uuid::Uuid;

const ADD: &str = "INSERT INTO counters (id, value) VALUES (?1, ?2)";

async fn add(store: &Store, id: i64, value: i64) -> Result<u64, StoreError> {
    store.run(Statements::writing(ADD, values![id, value]), |answers| Ok(answers.changed(0))).await
}

async fn value_of(store: &Store, id: i64) -> Result<Option<i64>, StoreError> {
    let select = Statements::reading("SELECT value FROM counters WHERE id = ?1", values![id]);
    store.run(select, |answers| answers.row(0, |row| row.get(0))).await
}

/// Returns a counter of the metrics.
fn metric(registry: &Registry, name: &str) -> u64 {
    let text = registry.render();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
    line.map_or(0.0, |value| value.parse::<f64>().unwrap()) as u64
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_are_run_and_answered_on_each_database() {
    on_each(async |name, store| {
        assert_eq!(add(&store, 1, 10).await, Ok(1), "{name}");
        assert_eq!(value_of(&store, 1).await, Ok(Some(10)), "{name}");
        assert_eq!(value_of(&store, 2).await, Ok(None), "{name}");
        assert_eq!(add(&store, 1, 11).await, Err(StoreError::Duplicate("counters.id".to_owned())), "{name}");
        let several = Statements::writing(ADD, values![2, 20])
            .and("UPDATE counters SET value = value + 1 RETURNING id, value", &[])
            .and("SELECT count(*) FROM counters", &[]);
        let seen = store.run(several, |answers| {
            let mut updated = answers.rows(1, |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?)))?;
            updated.sort_unstable();
            let counted = answers.row(2, |row| row.get::<i64>(0))?;
            Ok::<_, StoreError>((answers.changed(0), answers.changed(1), updated, counted))
        });
        assert_eq!(seen.await, Ok((1, 2, vec![(1, 11), (2, 21)], Some(2))), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_an_operation_take_effect_together_or_not_at_all() {
    on_each(async |name, store| {
        add(&store, 1, 1).await.unwrap();
        let failing = Statements::writing(ADD, values![2, 2]).and(ADD, values![1, 1]);
        let outcome = store.run(failing, |_| Ok::<_, StoreError>(())).await;
        assert_eq!(outcome, Err(StoreError::Duplicate("counters.id".to_owned())), "{name}");
        assert_eq!(count(&store).await, 1, "{name}");
        // The function that reads the answers cannot undo them.
        let done: Result<(), StoreError> =
            store.run(Statements::writing(ADD, values![3, 3]), |_| Err(StoreError::Failed("own".to_owned()))).await;
        assert_eq!((done, count(&store).await), (Err(StoreError::Failed("own".to_owned())), 2), "{name}");
        let panicking = store.run(Statements::writing(ADD, values![4, 4]), |_| -> Result<(), StoreError> { panic!() });
        assert!(panicking.await.is_err(), "{name}");
        assert_eq!(add(&store, 5, 5).await, Ok(1), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn racing_failures_of_some_callers_undo_nothing_of_others() {
    on_each(async |name, store| {
        add(&store, -1, 0).await.unwrap();
        let mut callers = JoinSet::new();
        for id in 0..400 {
            let store = store.clone();
            callers.spawn(async move {
                match id % 4 {
                    // A duplicate, a constraint, and an invalid statement.
                    1 => (id, add(&store, -1, 0).await),
                    2 => {
                        let nothing =
                            Statements::writing("INSERT INTO counters (id, value) VALUES (?1, NULL)", values![id]);
                        (id, store.run(nothing, |answers| Ok(answers.changed(0))).await)
                    }
                    3 => {
                        let missing = Statements::writing("DELETE FROM no_such_table WHERE id = ?1", values![id]);
                        (id, store.run(missing, |answers| Ok(answers.changed(0))).await)
                    }
                    _ => (id, add(&store, id, 0).await),
                }
            });
        }
        for (id, outcome) in callers.join_all().await {
            match id % 4 {
                0 => assert_eq!(outcome, Ok(1), "{name}: {id}"),
                1 => assert!(matches!(outcome, Err(StoreError::Duplicate(_))), "{name}: {id}: {outcome:?}"),
                _ => assert!(matches!(outcome, Err(StoreError::Failed(_))), "{name}: {id}: {outcome:?}"),
            }
        }
        assert_eq!(count(&store).await, 101, "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_hundred_conditional_writes_one_wins() {
    on_each(async |name, store| {
        add(&store, 1, 0).await.unwrap();
        let mut callers = JoinSet::new();
        for number in 1..=100_i64 {
            let store = store.clone();
            let change = "UPDATE counters SET value = ?1 WHERE id = 1 AND value = 0";
            callers.spawn(async move {
                store.run(Statements::writing(change, values![number]), |answers| Ok(answers.changed(0))).await
            });
        }
        let changed = callers.join_all().await.into_iter().sum::<Result<u64, StoreError>>();
        assert_eq!(changed, Ok(1), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_caller_leaves_the_connection_clean_and_its_write_stored() {
    on_each(async |name, store| {
        for id in 0..50 {
            let mut write = Box::pin(add(&store, id, 0));
            let _ = std::future::poll_fn(|context| std::task::Poll::Ready(write.as_mut().poll(context))).await;
            drop(write);
            let mut read = Box::pin(value_of(&store, id));
            let _ = std::future::poll_fn(|context| std::task::Poll::Ready(read.as_mut().poll(context))).await;
        }
        // Writes of one connection keep their order, so this is the last.
        assert_eq!(add(&store, 50, 0).await, Ok(1), "{name}");
        assert_eq!(count(&store).await, 51, "{name}");
        assert_eq!(value_of(&store, 7).await, Ok(Some(0)), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_is_one_round_trip_without_begin_and_commit() {
    let Some(database) = postgres() else { return };
    let registry = Registry::new();
    let store = Store::open(&database.settings(), &registry).await.unwrap();
    make_counters(&store).await;
    let counts = || {
        (metric(&registry, "aether_database_round_trips_total"), metric(&registry, "aether_database_statements_total"))
    };
    // Each connection prepares a statement once.
    add(&store, 1, 0).await.unwrap();
    value_of(&store, 1).await.unwrap();
    let (trips, statements) = counts();
    for id in 2..12 {
        add(&store, id, 0).await.unwrap();
        value_of(&store, id).await.unwrap();
    }
    let (trips_after, statements_after) = counts();
    // The second of the connections for reading may have had to prepare the statement.
    assert!((20..=21).contains(&(trips_after - trips)), "{}", trips_after - trips);
    assert!((20..=21).contains(&(statements_after - statements)), "{}", statements_after - statements);
    let two = Statements::writing(ADD, values![100, 0]).and(ADD, values![101, 0]);
    let (trips, statements) = counts();
    store.run(two, |_| Ok::<_, StoreError>(())).await.unwrap();
    let (trips_after, statements_after) = counts();
    assert_eq!((trips_after - trips, statements_after - statements), (1, 4), "with begin and commit in the same flush");
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_share_round_trips_and_commits() {
    let Some(database) = postgres() else { return };
    let registry = Registry::new();
    let store = Store::open(&database.settings(), &registry).await.unwrap();
    make_counters(&store).await;
    add(&store, -1, 0).await.unwrap();
    let before = metric(&registry, "aether_database_round_trips_total");
    let writes = (0..1_000).map(|id| add(&store, id, 0));
    for outcome in futures_util::future::join_all(writes).await {
        assert_eq!(outcome, Ok(1));
    }
    let trips = metric(&registry, "aether_database_round_trips_total") - before;
    assert!(trips <= 100, "{trips} round trips for a thousand writes");
    assert_eq!(count(&store).await, 1_001);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_waits_for_a_lock_delays_no_other() {
    let Some(database) = postgres() else { return };
    let registry = Registry::new();
    let store = Store::open(&database.settings(), &registry).await.unwrap();
    make_counters(&store).await;
    add(&store, 1, 0).await.unwrap();
    let (began, has_begun) = std::sync::mpsc::channel();
    let (go_on, gone_on) = std::sync::mpsc::channel();
    let gone_on = std::sync::Mutex::new(gone_on);
    let holding = store.clone();
    let holder = tokio::spawn(async move {
        let operation = holding.write(move |transaction| {
            assert_eq!(transaction.dialect(), Dialect::Postgres);
            transaction.execute("UPDATE counters SET value = 1 WHERE id = 1", &[])?;
            began.send(()).unwrap();
            gone_on.lock().unwrap().recv().unwrap();
            Ok::<_, StoreError>(())
        });
        operation.await
    });
    tokio::task::block_in_place(|| has_begun.recv().unwrap());
    let waiting = store.clone();
    let change = Statements::writing("UPDATE counters SET value = 2 WHERE id = 1", &[]);
    let waiting =
        tokio::spawn(async move { waiting.run(change, |answers| Ok::<_, StoreError>(answers.changed(0))).await });
    // All of these are done while the lock is held, although they began after it was waited for.
    for id in 2..100 {
        assert_eq!(tokio::time::timeout(DEADLINE, add(&store, id, 0)).await.unwrap(), Ok(1));
    }
    assert!(!waiting.is_finished());
    assert_eq!(metric(&registry, "aether_database_forwarded_total"), 1);
    go_on.send(()).unwrap();
    holder.await.unwrap().unwrap();
    assert_eq!(waiting.await.unwrap(), Ok(1));
    assert_eq!(counter(&store, 1).await, Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_statement_moves_to_a_connection_of_its_own() {
    let Some(database) = postgres() else { return };
    let store = database.open().await;
    let sleep = Statements::reading("SELECT 1 FROM pg_sleep(1.5)", &[]);
    let found = store.run(sleep, |answers| answers.row(0, |row| row.get::<i64>(0))).await;
    assert_eq!(found, Ok(Some(1)));
    store.ping().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_in_order_share_their_turns_with_other_operations() {
    on_each(async |name, store| {
        add(&store, 1, 0).await.unwrap();
        let log = Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut callers = JoinSet::new();
        for number in 0..60 {
            let (store, log) = (store.clone(), Arc::clone(&log));
            let change = "UPDATE counters SET value = value + 1 WHERE id = 1 RETURNING value";
            callers.spawn(async move {
                if number % 3 == 0 {
                    let operation = move |transaction: &mut aether_store::Transaction<'_>| {
                        let value = transaction.row(change, &[], |row| row.get::<i64>(0))?;
                        let log = Arc::clone(&log);
                        transaction.after_commit(move || log.lock().unwrap().push(value));
                        Ok::<_, StoreError>(())
                    };
                    return store.write_in_order(7, operation).await;
                }
                let statements = Statements::writing(change, &[]).in_order(7);
                let done = store.run(statements, move |answers| {
                    log.lock().unwrap().push(answers.row(0, |row| row.get::<i64>(0))?);
                    Ok(())
                });
                done.await
            });
        }
        let done = tokio::time::timeout(DEADLINE, callers.join_all()).await.unwrap();
        assert!(done.into_iter().all(|outcome| outcome.is_ok()), "{name}");
        let expected: Vec<_> = (1..=60).map(Some).collect();
        assert_eq!(*log.lock().unwrap(), expected, "{name}: memory changes in the order of the commits");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_fails_only_its_own_operations_and_no_acknowledged_write_is_missing() {
    let Some(mut cluster) = cluster() else { return };
    cluster.start().unwrap();
    let database = postgres_at(&cluster.url());
    let store = database.open().await;
    make_counters(&store).await;
    let over = Arc::new(AtomicBool::new(false));
    let mut callers = JoinSet::new();
    for caller in 0..16_i64 {
        let (store, over) = (store.clone(), Arc::clone(&over));
        callers.spawn(async move {
            let mut stored = Vec::new();
            for number in 0.. {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                let id = caller * 1_000_000 + number;
                match add(&store, id, 0).await {
                    Ok(_) => stored.push(id),
                    Err(StoreError::Unavailable(_)) => tokio::time::sleep(Duration::from_millis(1)).await,
                    Err(error) => panic!("{error:?}"),
                }
            }
            stored
        });
    }
    for round in 0..=4 {
        let began = Instant::now();
        let progress = count_of(&store).await;
        while count_of(&store).await < progress + 50 {
            assert!(began.elapsed() < DEADLINE, "writes do not recover");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        match round {
            0 | 2 => {
                let terminate = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                    WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'";
                let _ = store.read(move |transaction| transaction.row(terminate, &[], |_| Ok(()))).await;
            }
            1 | 3 => {
                cluster.kill().unwrap();
                cluster.start().unwrap();
            }
            _ => {}
        }
    }
    over.store(true, Ordering::SeqCst);
    let acknowledged = tokio::time::timeout(DEADLINE, callers.join_all()).await.unwrap().concat();
    let ids = store.read(|transaction| transaction.rows("SELECT id FROM counters", &[], |row| row.get::<i64>(0)));
    let ids: BTreeSet<i64> = ids.await.unwrap().into_iter().collect();
    let missing: Vec<_> = acknowledged.iter().filter(|id| !ids.contains(id)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    store.close().await;
}

async fn count_of(store: &Store) -> i64 {
    let select = Statements::reading("SELECT count(*) FROM counters", &[]);
    let counted = store.run(select, |answers| answers.row(0, |row| row.get::<i64>(0))).await;
    counted.ok().flatten().unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_between_statements_causes_no_error() {
    let Some(mut cluster) = cluster() else { return };
    cluster.start().unwrap();
    let database = postgres_at(&cluster.url());
    let store = database.open().await;
    make_counters(&store).await;
    for id in 0..4 {
        add(&store, id, 0).await.unwrap();
        value_of(&store, id).await.unwrap();
    }
    cluster.stop().unwrap();
    cluster.start().unwrap();
    for id in 4..12 {
        assert_eq!(value_of(&store, 1).await, Ok(Some(0)));
        assert_eq!(add(&store, id, 0).await, Ok(1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_take_turns_on_a_shared_connection() {
    let Some(database) = postgres() else { return };
    let store = database.open().await;
    make_counters(&store).await;
    // The table is locked until all operations are queued.
    let (locked, queued) = (Arc::new(tokio::sync::Notify::new()), Arc::new(std::sync::Barrier::new(2)));
    let (holder, is_locked, is_queued) = (store.clone(), Arc::clone(&locked), Arc::clone(&queued));
    let lock = tokio::spawn(async move {
        let hold = holder.write(move |transaction| {
            transaction.execute("LOCK TABLE counters IN ACCESS EXCLUSIVE MODE", &[])?;
            is_locked.notify_one();
            is_queued.wait();
            Ok::<(), StoreError>(())
        });
        hold.await
    });
    locked.notified().await;
    let flood = (0..2_000).map(|id| {
        let store = store.clone();
        aether_store::on_behalf_of(Uuid::from_u128(1), async move { add(&store, id, 0).await })
    });
    let mut flood: Vec<_> = flood.map(Box::pin).collect();
    for write in &mut flood {
        let _ = std::future::poll_fn(|context| std::task::Poll::Ready(write.as_mut().poll(context))).await;
    }
    let insert_and_count = "INSERT INTO counters (id, value) VALUES (?1, 0) RETURNING (SELECT count(*) FROM counters)";
    let counted = Statements::writing(insert_and_count, values![-1_i64]);
    let counted = store.run(counted, |answers| answers.row(0, |row| row.get::<i64>(0)));
    let mut other = Box::pin(aether_store::on_behalf_of(Uuid::from_u128(2), counted));
    let _ = std::future::poll_fn(|context| std::task::Poll::Ready(other.as_mut().poll(context))).await;
    queued.wait();
    lock.await.unwrap().unwrap();
    // At most two batches of the first account were before it: the one in progress, and the one that it is part of.
    let before = other.await.unwrap().unwrap();
    assert!(before < 2_000 / 2, "{before} operations of the first account were first");
    for outcome in futures_util::future::join_all(flood).await {
        outcome.unwrap();
    }
    assert_eq!(insert(&store, -2, 0).await, Ok(1));
}
