//! What is to be told to the outside.

use crate::on_each;
use aether_store::{Store, StoreError, outbox};
use std::collections::BTreeSet;
use tokio::task::JoinSet;
use uuid::Uuid;

async fn push(store: &Store, payload: &'static str, now: i64) -> Uuid {
    store.write(move |transaction| outbox::push(transaction, "topic", payload, now)).await.unwrap()
}

async fn claim(store: &Store, now: i64, until: i64, count: i64) -> Vec<outbox::Message> {
    store.write(move |transaction| outbox::claim(transaction, now, until, count)).await.unwrap()
}

async fn depth(store: &Store) -> (i64, i64) {
    store.read(outbox::depth).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_written_with_its_change_or_not_at_all() {
    on_each(async |name, store| {
        let refused: Result<Uuid, StoreError> = store
            .write(|transaction| {
                outbox::push(transaction, "topic", "{}", 0)?;
                Err(StoreError::Refused("no".to_owned()))
            })
            .await;
        assert!(refused.is_err(), "{name}");
        assert_eq!(depth(&store).await, (0, 0), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_claimed_by_one_until_it_is_confirmed() {
    on_each(async |name, store| {
        let id = push(&store, r#"{"a":1}"#, 100).await;
        assert_eq!(claim(&store, 99, 200, 10).await, [], "{name}: it is not due yet");
        let claimed = claim(&store, 100, 200, 10).await;
        let expected = outbox::Message {
            id,
            topic: "topic".to_owned(),
            payload: r#"{"a":1}"#.to_owned(),
            created_at: 100,
            attempts: 1,
        };
        assert_eq!(claimed, [expected], "{name}");
        assert_eq!(claim(&store, 199, 300, 10).await, [], "{name}: it is someone's");
        store.write(move |transaction| outbox::confirm(transaction, id)).await.unwrap();
        assert_eq!(claim(&store, 1_000, 2_000, 10).await, [], "{name}: it was delivered");
        assert_eq!(depth(&store).await, (0, 0), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_claim_runs_out_is_due_again_under_the_same_key() {
    on_each(async |name, store| {
        let id = push(&store, "{}", 0).await;
        for attempt in 1..4 {
            let claimed = claim(&store, attempt * 100, (attempt + 1) * 100, 10).await;
            let seen: Vec<_> = claimed.iter().map(|message| (message.id, message.attempts)).collect();
            assert_eq!(seen, [(id, attempt)], "{name}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_delivery_is_tried_again_when_it_is_due_or_given_up() {
    on_each(async |name, store| {
        let id = push(&store, "{}", 0).await;
        claim(&store, 0, 10, 1).await;
        store.write(move |transaction| outbox::fail(transaction, id, "not there", Some(500))).await.unwrap();
        assert_eq!(claim(&store, 499, 510, 1).await, [], "{name}");
        assert_eq!(claim(&store, 500, 510, 1).await.len(), 1, "{name}");
        store.write(move |transaction| outbox::fail(transaction, id, "not there", None)).await.unwrap();
        assert_eq!(claim(&store, i64::MAX - 1, i64::MAX, 1).await, [], "{name}");
        assert_eq!(depth(&store).await, (0, 1), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_come_in_the_order_they_were_written_and_no_more_than_asked_for() {
    on_each(async |name, store| {
        let mut ids = Vec::new();
        for _ in 0..10 {
            ids.push(push(&store, "{}", 0).await);
        }
        let first: Vec<Uuid> = claim(&store, 0, 10, 4).await.iter().map(|message| message.id).collect();
        let second: Vec<Uuid> = claim(&store, 0, 10, 100).await.iter().map(|message| message.id).collect();
        assert_eq!((first.as_slice(), second.as_slice()), (&ids[..4], &ids[4..]), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_who_claim_at_once_share_the_messages_out() {
    on_each(async |name, store| {
        let written: BTreeSet<Uuid> = {
            let many = store.write(|transaction| {
                (0..300).map(|_| outbox::push(transaction, "topic", "{}", 0)).collect::<Result<BTreeSet<_>, _>>()
            });
            many.await.unwrap()
        };
        let mut workers = JoinSet::new();
        for _ in 0..8 {
            let store = store.clone();
            workers.spawn(async move {
                let mut mine = Vec::new();
                loop {
                    let claimed = claim(&store, 0, 10, 7).await;
                    assert!(claimed.len() <= 7);
                    if claimed.is_empty() {
                        return mine;
                    }
                    mine.extend(claimed.into_iter().map(|message| message.id));
                }
            });
        }
        let claimed: Vec<Uuid> = workers.join_all().await.concat();
        assert_eq!(claimed.len(), 300, "{name}: none was claimed twice");
        assert_eq!(claimed.into_iter().collect::<BTreeSet<_>>(), written, "{name}");
    })
    .await;
}
