//! The outbox.

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
async fn a_message_of_a_rolled_back_transaction_is_not_stored() {
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
        assert_eq!(claim(&store, 99, 200, 10).await, [], "{name}: not due yet");
        let claimed = claim(&store, 100, 200, 10).await;
        let expected = outbox::Message {
            id,
            topic: "topic".to_owned(),
            payload: r#"{"a":1}"#.to_owned(),
            created_at: 100,
            attempts: 1,
        };
        assert_eq!(claimed, [expected], "{name}");
        assert_eq!(claim(&store, 199, 300, 10).await, [], "{name}: claimed");
        store.write(move |transaction| outbox::confirm(transaction, id)).await.unwrap();
        assert_eq!(claim(&store, 1_000, 2_000, 10).await, [], "{name}: delivered");
        assert_eq!(depth(&store).await, (0, 0), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_claim_expires_is_due_again_with_the_same_id() {
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
async fn a_failed_delivery_is_retried_when_due_or_parked() {
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
async fn messages_are_claimed_in_order_and_up_to_the_count() {
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
async fn concurrent_claims_never_overlap() {
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
                let mut ids = Vec::new();
                loop {
                    let claimed = claim(&store, 0, 10, 7).await;
                    assert!(claimed.len() <= 7);
                    if claimed.is_empty() {
                        return ids;
                    }
                    ids.extend(claimed.into_iter().map(|message| message.id));
                }
            });
        }
        let claimed: Vec<Uuid> = workers.join_all().await.concat();
        assert_eq!(claimed.len(), 300, "{name}: none was claimed twice");
        assert_eq!(claimed.into_iter().collect::<BTreeSet<_>>(), written, "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_messages_of_one_topic_do_not_delay_another() {
    on_each(async |name, store| {
        let flood = |transaction: &mut aether_store::Transaction<'_>| {
            for _ in 0..1_000 {
                outbox::push(transaction, "event", "{}", 0)?;
            }
            outbox::push(transaction, "account.password_reset", "{}", 900)
        };
        let code = store.write(flood).await.unwrap();
        let first = claim(&store, 1_000, 2_000, 16).await;
        assert_eq!(first.len(), 16, "{name}");
        assert!(first.iter().any(|message| message.id == code), "{name}: the code is among the first");
        let rest = claim(&store, 1_000, 2_000, 2_000).await;
        assert_eq!(rest.len(), 1_001 - 16, "{name}: each message is claimed once");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_counted_up_to_a_limit_and_parked_ones_are_pruned_by_age() {
    on_each(async |name, store| {
        let account = Uuid::from_u128(7);
        let push = move |transaction: &mut aether_store::Transaction<'_>| {
            let mut ids = Vec::new();
            for at in 0..10 {
                ids.push(outbox::push_from(transaction, Some(account), "event", "{}", at)?);
            }
            for id in &ids[..6] {
                outbox::fail(transaction, *id, "not there", None)?;
            }
            Ok::<_, StoreError>(())
        };
        store.write(push).await.unwrap();
        let counted = store.read(move |transaction| {
            let limited = outbox::count_of_account(transaction, account, 4)?;
            let other = outbox::count_of_account(transaction, Uuid::nil(), 100)?;
            let all = outbox::count_of_account(transaction, account, 100)?;
            Ok::<_, StoreError>((limited, other, all, outbox::count_of_topic(transaction, "event", 100)?))
        });
        assert_eq!(counted.await.unwrap(), (4, 0, 10, 10), "{name}");
        let prune = |count| store.write(move |transaction| outbox::prune(transaction, 5, count));
        assert_eq!(prune(3).await.unwrap(), 3, "{name}: a bounded number at a time");
        assert_eq!(prune(100).await.unwrap(), 2, "{name}: the sixth is not old enough");
        assert_eq!(depth(&store).await, (4, 1), "{name}: what waits is not pruned");
    })
    .await;
}
