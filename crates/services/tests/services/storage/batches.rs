//! Batches: atomic, ordered, and without deadlocks.

use crate::fixture::{Fixture, error_of, fixtures};
use crate::objects::{by, id, write};
use aether_services::storage::{BATCH_MAX, Condition, Delete};
use aether_services::{Caller, GrpcCode};
use std::sync::Arc;
use tokio::task::JoinSet;

#[tokio::test]
async fn answers_are_in_the_order_of_the_requests() {
    for fixture in fixtures().await {
        let user = fixture.user().await;
        let keys = ["c", "a", "b", "a"];
        let values = [r#"{"n":0}"#, r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#];
        let writes = keys.iter().zip(values).map(|(key, value)| write("saves", key, user, value)).collect();
        let acks = fixture.storage().write(&by(user), writes).await.expect(fixture.name);
        assert_eq!(acks.iter().map(|ack| ack.id.key.as_str()).collect::<Vec<_>>(), keys);
        assert!(acks[1].version != acks[3].version);
        let ids = ["b", "missing", "a", "c", "a"].map(|key| id("saves", key, user)).to_vec();
        let read = fixture.storage().read(&by(user), ids).await.expect(fixture.name);
        let read: Vec<_> = read.iter().map(|object| (object.id.key.as_str(), object.value.as_str())).collect();
        assert_eq!(read, [("b", values[2]), ("a", values[3]), ("c", values[0])], "the last of the same key counts");
    }
}

#[tokio::test]
async fn one_rejected_write_undoes_the_others() {
    for fixture in fixtures().await {
        let user = fixture.user().await;
        let wrong = write("saves", "b", user, "{}").when(Condition::Version("other".to_owned()));
        let writes = vec![write("saves", "a", user, "{}"), wrong, write("saves", "c", user, "{}")];
        assert_eq!(error_of(fixture.storage().write(&by(user), writes).await).0, GrpcCode::InvalidArgument);
        assert_eq!(fixture.count("SELECT count(*) FROM storage_objects").await, 0, "{}", fixture.name);
        fixture.storage().write(&by(user), vec![write("saves", "a", user, "{}")]).await.unwrap();
        let deletes = vec![
            Delete::new(id("saves", "a", user)),
            Delete { id: id("saves", "b", user), version: Some("other".to_owned()) },
        ];
        assert_eq!(error_of(fixture.storage().delete(&by(user), deletes).await).0, GrpcCode::InvalidArgument);
        assert_eq!(fixture.count("SELECT count(*) FROM storage_objects").await, 1, "{}", fixture.name);
    }
}

#[tokio::test]
async fn a_batch_has_a_limit_and_may_be_empty() {
    for fixture in fixtures().await {
        let user = fixture.user().await;
        let writes =
            |count: usize| (0..count).map(|n| write("saves", &format!("{n:03}"), user, "{}")).collect::<Vec<_>>();
        let ids = |count: usize| writes(count).into_iter().map(|write| write.id).collect::<Vec<_>>();
        assert_eq!(fixture.storage().write(&by(user), writes(BATCH_MAX)).await.expect(fixture.name).len(), BATCH_MAX);
        assert_eq!(
            error_of(fixture.storage().write(&by(user), writes(BATCH_MAX + 1)).await).0,
            GrpcCode::InvalidArgument
        );
        assert_eq!(fixture.storage().read(&by(user), ids(BATCH_MAX)).await.expect(fixture.name).len(), BATCH_MAX);
        assert_eq!(error_of(fixture.storage().read(&by(user), ids(BATCH_MAX + 1)).await).0, GrpcCode::InvalidArgument);
        assert_eq!(fixture.storage().read(&by(user), ids(5)).await.expect(fixture.name).len(), 5);
        assert_eq!(fixture.storage().write(&by(user), Vec::new()).await, Ok(Vec::new()));
        assert_eq!(fixture.storage().read(&by(user), Vec::new()).await, Ok(Vec::new()));
        assert_eq!(fixture.storage().delete(&by(user), Vec::new()).await, Ok(()));
        let deletes = ids(BATCH_MAX).into_iter().map(Delete::new).collect();
        fixture.storage().delete(&by(user), deletes).await.expect(fixture.name);
        assert_eq!(fixture.count("SELECT count(*) FROM storage_objects").await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_a_hundred_racing_conditional_writes_wins() {
    for fixture in fixtures().await {
        let user = fixture.user().await;
        let first = fixture.storage().write(&by(user), vec![write("saves", "a", user, "{}")]).await.unwrap();
        let version = first[0].version.clone();
        assert_eq!(race(fixture, user, Condition::Version(version)).await, (1, 99));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_a_hundred_racing_creations_wins() {
    for fixture in fixtures().await {
        let user = fixture.user().await;
        assert_eq!(race(fixture, user, Condition::Absent).await, (1, 99));
    }
}

/// Returns how many of a hundred concurrent writes succeeded, and how many failed the version check. The object has the
/// winner's value.
async fn race(fixture: Fixture, user: uuid::Uuid, condition: Condition) -> (usize, usize) {
    let mut writers = JoinSet::new();
    for number in 0..100 {
        let storage = fixture.storage();
        let one = write("saves", "a", user, &format!(r#"{{"winner":{number}}}"#)).when(condition.clone());
        writers.spawn(async move { storage.write(&by(user), vec![one]).await });
    }
    let outcomes = writers.join_all().await;
    let winners: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
    let losers = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
    let losers = losers.filter(|error| error.message == "Storage write rejected - version check failed.").count();
    let read = fixture.storage().read(&by(user), vec![id("saves", "a", user)]).await.expect(fixture.name);
    assert_eq!(read[0].version, winners[0][0].version, "{}", fixture.name);
    (winners.len(), losers)
}

/// Many batches write the same ten objects, half of them in the opposite order. In a deadlock the database would end
/// one of them, and the retry would be counted.
#[tokio::test(flavor = "multi_thread")]
async fn batches_of_opposite_orders_do_not_deadlock() {
    for database in aether_testkit_store::databases() {
        let registry = aether_metrics::Registry::new();
        let store = database.open_with(&registry).await;
        let clock = Arc::new(aether_services::clock::ManualClock::default());
        let storage = aether_services::storage::Storage::new(store, clock);
        let mut batches = JoinSet::new();
        for number in 0..100 {
            let storage = storage.clone();
            let value = format!(r#"{{"batch":{number}}}"#);
            let one = move |key: u32| write("shared", &key.to_string(), uuid::Uuid::nil(), &value);
            let writes = if number % 2 == 0 { (0..10).map(one).collect() } else { (0..10).rev().map(one).collect() };
            batches.spawn(async move { storage.write(&Caller::Server, writes).await });
        }
        assert!(batches.join_all().await.iter().all(Result::is_ok), "{}", database.name);
        let ids = (0..10).map(|key| id("shared", &key.to_string(), uuid::Uuid::nil())).collect();
        let read = storage.read(&Caller::Server, ids).await.unwrap();
        assert!(read.windows(2).all(|pair| pair[0].value == pair[1].value), "a batch was mixed with another");
        let metrics = registry.render();
        assert!(metrics.contains("\naether_database_retries_total 0\n"), "{}: {metrics}", database.name);
    }
}
