//! Turns of accounts in the queue of operations.

use crate::{DEADLINE, count, insert, make_counters};
use aether_store::{Store, StoreError, on_behalf_of, values};
use aether_testkit_store::databases;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use tokio::sync::oneshot;
use tokio::time::timeout;
use uuid::Uuid;

/// Polls a future once, which queues its operation.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut *future).poll(context))).await
}

/// Occupies the threads of a store until the returned senders are dropped.
async fn occupy(store: &Store, threads: usize) -> Vec<std::sync::mpsc::Sender<()>> {
    let mut gates = Vec::new();
    for _ in 0..threads {
        let (gate, opened) = std::sync::mpsc::channel::<()>();
        let (started, is_started) = oneshot::channel();
        let (opened, started) = (std::sync::Mutex::new(opened), std::sync::Mutex::new(Some(started)));
        let store = store.clone();
        tokio::spawn(async move {
            let operation = move |_: &mut aether_store::Transaction<'_>| {
                if let Some(started) = started.lock().unwrap().take() {
                    let _ = started.send(());
                }
                let _ = opened.lock().unwrap().recv();
                Ok::<_, StoreError>(())
            };
            store.write(operation).await
        });
        timeout(DEADLINE, is_started).await.unwrap().unwrap();
        gates.push(gate);
    }
    gates
}

#[tokio::test(flavor = "multi_thread")]
async fn the_queue_of_one_account_does_not_delay_another() {
    const QUEUED: usize = 2_000;
    for database in databases() {
        let store = database.open().await;
        make_counters(&store).await;
        let threads = if database.name == "postgres" { database.settings().connections } else { 1 };
        let gates = occupy(&store, threads).await;
        let (done, is_other_done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let mut flood = Vec::new();
        for number in 0..QUEUED {
            let (store, done) = (store.clone(), Arc::clone(&done));
            let operation = move |transaction: &mut aether_store::Transaction<'_>| {
                done.fetch_add(1, Ordering::SeqCst);
                transaction.execute("INSERT INTO counters (id, value) VALUES (?1, 0)", values![number as i64])
            };
            let mut write = Box::pin(on_behalf_of(Uuid::from_u128(1), async move { store.write(operation).await }));
            assert!(poll_once(&mut write).await.is_pending(), "{}", database.name);
            flood.push(write);
        }
        let (marked, before) = (Arc::clone(&is_other_done), Arc::clone(&done));
        let other = on_behalf_of(Uuid::from_u128(2), async {
            let operation = move |transaction: &mut aether_store::Transaction<'_>| {
                let before = before.load(Ordering::SeqCst);
                marked.store(true, Ordering::SeqCst);
                transaction.execute("INSERT INTO counters (id, value) VALUES (-1, 0)", &[])?;
                Ok::<_, StoreError>(before)
            };
            store.write(operation).await
        });
        let mut other = Box::pin(other);
        assert!(poll_once(&mut other).await.is_pending(), "{}", database.name);
        drop(gates);
        let before = timeout(DEADLINE, other).await.unwrap().unwrap();
        // Each thread may have taken a few of the first account before the second had its turn.
        assert!(before <= 2 * threads + 1, "{}: {before} of {QUEUED} operations were first", database.name);
        assert!(is_other_done.load(Ordering::SeqCst));
        for outcome in futures_util::future::join_all(flood).await {
            outcome.unwrap();
        }
        assert_eq!(count(&store).await, QUEUED as i64 + 1, "{}", database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_refuses_the_account_that_filled_it() {
    let database = aether_testkit_store::file();
    let store = database.open().await;
    make_counters(&store).await;
    let gates = occupy(&store, 1).await;
    let mut flood = Vec::new();
    for number in 0..5_000 {
        let store = store.clone();
        let mut write = Box::pin(on_behalf_of(Uuid::from_u128(1), async move { insert(&store, number, 0).await }));
        if let Poll::Ready(outcome) = poll_once(&mut write).await {
            assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{outcome:?}");
        } else {
            flood.push(write);
        }
    }
    assert_eq!(flood.len(), 4_096, "the queue is bounded");
    let mut others = Vec::new();
    for number in 0..100 {
        let store = store.clone();
        let insert = async move { insert(&store, 10_000 + number, 0).await };
        let mut write = Box::pin(on_behalf_of(Uuid::from_u128(2 + number as u128), insert));
        assert!(poll_once(&mut write).await.is_pending(), "another account finds a place");
        others.push(write);
    }
    drop(gates);
    for outcome in futures_util::future::join_all(others).await {
        outcome.unwrap();
    }
    let refused = futures_util::future::join_all(flood).await.into_iter().filter(Result::is_err).count();
    assert_eq!(refused, 100, "one for each of the others");
}
