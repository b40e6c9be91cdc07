//! Outages of PostgreSQL.

use crate::{count, insert};
use aether_store::{Store, StoreError, StoreSettings};
use aether_testkit_store::{cluster, postgres_at};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Instant;
use tokio::task::JoinSet;

/// Tasks that write continuously.
struct Load {
    callers: JoinSet<Vec<i64>>,
    over: Arc<AtomicBool>,
    successes: Arc<AtomicI64>,
}

impl Load {
    fn start(store: &Store) -> Load {
        let (over, successes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicI64::new(0)));
        let next = Arc::new(AtomicI64::new(0));
        let mut callers = JoinSet::new();
        for _ in 0..8 {
            let (store, over, successes, next) =
                (store.clone(), Arc::clone(&over), Arc::clone(&successes), Arc::clone(&next));
            callers.spawn(async move {
                let mut committed = Vec::new();
                while !over.load(Ordering::SeqCst) {
                    let id = next.fetch_add(1, Ordering::SeqCst);
                    match insert(&store, id, 0).await {
                        Ok(_) => {
                            successes.fetch_add(1, Ordering::SeqCst);
                            committed.push(id);
                        }
                        Err(StoreError::Unavailable(_)) => {
                            tokio::time::sleep(std::time::Duration::from_millis(1)).await
                        }
                        Err(error) => panic!("{error:?}"),
                    }
                }
                committed
            });
        }
        Load { callers, over, successes }
    }

    /// Waits until 50 more writes have succeeded.
    async fn wait_for_progress(&self) {
        let deadline = Instant::now() + crate::DEADLINE;
        let before = self.successes.load(Ordering::SeqCst);
        while self.successes.load(Ordering::SeqCst) < before + 50 {
            assert!(Instant::now() < deadline, "writes do not recover");
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    async fn end(self) -> Vec<i64> {
        self.over.store(true, Ordering::SeqCst);
        self.callers.join_all().await.concat()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn under_load_a_stop_and_a_kill_lose_no_acknowledged_write_and_the_store_recovers() {
    let Some(mut cluster) = cluster() else { return };
    cluster.start().unwrap();
    let database = postgres_at(&cluster.url());
    let store = database.open().await;
    crate::make_counters(&store).await;
    let load = Load::start(&store);
    load.wait_for_progress().await;
    for round in 0..3 {
        match round {
            0 => cluster.stop().unwrap(),
            _ => cluster.kill().unwrap(),
        }
        let deadline = Instant::now() + crate::DEADLINE;
        // A process that outlives its killed parent may still answer for a moment.
        let refused = loop {
            let began = Instant::now();
            let answer = store.ping().await;
            assert!(began.elapsed().as_secs() < 5, "the error comes at once");
            assert!(Instant::now() < deadline, "the outage is not noticed");
            if let Err(error) = answer {
                break error;
            }
        };
        assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
        cluster.start().unwrap();
        load.wait_for_progress().await;
        store.ping().await.unwrap();
    }
    let acknowledged = load.end().await;
    let ids = store.read(|transaction| transaction.rows("SELECT id FROM counters", &[], |row| row.get::<i64>(0)));
    let ids: std::collections::BTreeSet<i64> = ids.await.unwrap().into_iter().collect();
    let missing: Vec<_> = acknowledged.iter().filter(|id| !ids.contains(id)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_between_operations_causes_no_error() {
    let Some(mut cluster) = cluster() else { return };
    cluster.start().unwrap();
    let database = postgres_at(&cluster.url());
    let store = database.open().await;
    crate::make_counters(&store).await;
    for id in 0..8 {
        insert(&store, id, 0).await.unwrap();
    }
    cluster.stop().unwrap();
    cluster.start().unwrap();
    // All connections are stale.
    for id in 8..24 {
        assert_eq!(insert(&store, id, 0).await, Ok(1));
    }
    assert_eq!(count(&store).await, 24);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_whose_connection_is_lost_before_the_commit_is_retried() {
    let Some(database) = aether_testkit_store::postgres() else { return };
    let store = database.open().await;
    crate::make_counters(&store).await;
    let runs = Arc::new(AtomicI64::new(0));
    let within = Arc::clone(&runs);
    let written = store.write(move |transaction| {
        transaction.execute("INSERT INTO counters (id, value) VALUES (1, 1)", &[])?;
        if within.fetch_add(1, Ordering::SeqCst) == 0 {
            let outcome = transaction.row("SELECT pg_terminate_backend(pg_backend_pid())", &[], |_| Ok(()));
            assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{outcome:?}");
            outcome?;
        }
        Ok::<_, StoreError>(())
    });
    assert_eq!(written.await, Ok(()));
    assert_eq!((runs.load(Ordering::SeqCst), count(&store).await), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_an_unreachable_database_fails_at_once() {
    let began = Instant::now();
    let unreachable =
        StoreSettings::new(aether_store::Database::Postgres("postgres://postgres@127.0.0.1:1/none".to_owned()));
    let refused = Store::open(&unreachable, &aether_metrics::Registry::new()).await.err().unwrap();
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
    assert!(began.elapsed().as_secs() < 5);
}
