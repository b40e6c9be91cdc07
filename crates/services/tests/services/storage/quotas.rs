//! Storage quotas.

use crate::fixture::{Fixture, error_of, fixtures};
use crate::objects::{by, id, write};
use aether_services::storage::{Delete, Permission, Quota, Storage};
use aether_services::{Caller, GrpcCode};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

fn limited(fixture: &Fixture, objects_max: Option<u64>, bytes_max: Option<u64>) -> Storage {
    fixture.storage().with_quota(Quota { objects_max, bytes_max })
}

#[tokio::test]
async fn the_number_of_objects_is_limited() {
    for fixture in fixtures().await {
        let (ann, ben) = (fixture.user().await, fixture.user().await);
        let storage = limited(&fixture, Some(2), None);
        let put = async |key: &str| storage.write(&by(ann), vec![write("saves", key, ann, "{}")]).await;
        put("a").await.expect(fixture.name);
        put("b").await.expect(fixture.name);
        let sentence = "A user may store at most 2 objects. Delete some first.".to_owned();
        assert_eq!(error_of(put("c").await), (GrpcCode::FailedPrecondition, sentence), "{}", fixture.name);
        put("a").await.expect("what is there may be written again");
        storage.write(&by(ben), vec![write("saves", "a", ben, "{}")]).await.expect("another is not concerned");
        storage.delete(&by(ann), vec![Delete::new(id("saves", "a", ann))]).await.expect(fixture.name);
        put("c").await.expect("there is room again");
        assert_eq!(fixture.count("SELECT count(*) FROM storage_objects").await, 3, "{}", fixture.name);
    }
}

#[tokio::test]
async fn bytes_are_counted_as_bytes_and_a_batch_as_a_whole() {
    for fixture in fixtures().await {
        let ann = fixture.user().await;
        let storage = limited(&fixture, None, Some(24));
        // Two of its characters take two bytes each.
        let value = r#"{"a":"éé"}"#;
        assert_eq!(value.len(), 12);
        let writes = ["a", "b", "c"].map(|key| write("saves", key, ann, value)).to_vec();
        let rejected = error_of(storage.write(&by(ann), writes).await);
        assert_eq!(rejected.0, GrpcCode::FailedPrecondition, "{}", fixture.name);
        assert_eq!(rejected.1, "A user may store at most 24 bytes. Delete some objects first.");
        assert_eq!(fixture.count("SELECT count(*) FROM storage_objects").await, 0, "{}: all or nothing", fixture.name);
        let writes = ["a", "b"].map(|key| write("saves", key, ann, value)).to_vec();
        storage.write(&by(ann), writes).await.expect("as much as fits");
        let longer = write("saves", "a", ann, r#"{"a":"ééé"}"#);
        assert_eq!(error_of(storage.write(&by(ann), vec![longer]).await).0, GrpcCode::FailedPrecondition);
    }
}

#[tokio::test]
async fn the_server_and_changes_of_open_objects_are_not_limited() {
    for fixture in fixtures().await {
        let (ann, ben) = (fixture.user().await, fixture.user().await);
        let storage = limited(&fixture, Some(1), None);
        let open = |key: &str| write("saves", key, ann, "{}").permit(Permission::Everyone, Permission::Everyone);
        storage.write(&Caller::Server, vec![open("a"), open("b")]).await.expect("the server does as it wants");
        storage.write(&by(ben), vec![open("a")]).await.expect("it is not Ben who keeps it");
        assert_eq!(error_of(storage.write(&by(ann), vec![open("a")]).await).0, GrpcCode::FailedPrecondition);
        storage.delete(&by(ann), vec![Delete::new(id("saves", "b", ann))]).await.expect("deleting always works");
        storage.write(&by(ann), vec![open("a")]).await.expect("now it fits");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writes_respect_the_quota() {
    for fixture in fixtures().await {
        let (name, ann) = (fixture.name, fixture.user().await);
        let storage = Arc::new(limited(&fixture, Some(10), None));
        let mut writing = JoinSet::new();
        for number in 0..40 {
            let storage = Arc::clone(&storage);
            writing.spawn(async move {
                let object = write("saves", &number.to_string(), ann, "{}");
                storage.write(&by(ann), vec![object]).await.map_err(|error| error.code)
            });
        }
        let outcomes = writing.join_all().await;
        let stored = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        let full = outcomes.iter().filter(|outcome| matches!(outcome, Err(GrpcCode::FailedPrecondition))).count();
        assert_eq!((stored, full), (10, 30), "{name}");
        assert_eq!(fixture.count("SELECT count(*) FROM storage_objects").await, 10, "{name}");
    }
}

/// Compares the running totals with the objects.
async fn check_totals(fixture: &Fixture) {
    let wrong = "SELECT count(*) FROM (
            SELECT user_id, count(*) AS objects, sum(octet_length(value)) AS bytes FROM storage_objects
            WHERE user_id IN (SELECT id FROM users) GROUP BY user_id) AS counted
        LEFT JOIN storage_totals t ON t.user_id = counted.user_id
        WHERE t.objects IS NULL OR t.objects <> counted.objects OR t.bytes <> counted.bytes";
    assert_eq!(fixture.count(wrong).await, 0, "{}: totals of users with objects", fixture.name);
    let left = "SELECT count(*) FROM storage_totals WHERE (objects <> 0 OR bytes <> 0)
        AND user_id NOT IN (SELECT user_id FROM storage_objects)";
    assert_eq!(fixture.count(left).await, 0, "{}: totals of users without objects", fixture.name);
}

#[tokio::test(flavor = "multi_thread")]
async fn running_totals_match_the_objects_after_any_change() {
    for fixture in fixtures().await {
        let (name, storage) = (fixture.name, Arc::new(limited(&fixture, Some(1_000), None)));
        let users = [fixture.user().await, fixture.user().await, fixture.user().await];
        let mut working = JoinSet::new();
        for number in 0..90_usize {
            let (storage, mut state) = (Arc::clone(&storage), number as u64);
            let user = users[number % 3];
            working.spawn(async move {
                for _ in 0..10 {
                    // A linear congruential generator, so that each run makes the same calls.
                    let mut random = |below: u64| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        (state >> 33) % below
                    };
                    let open = |owner, key: u64, length: usize| {
                        let value = format!(r#"{{"a":"{}"}}"#, "é".repeat(length));
                        let object = write("saves", &key.to_string(), owner, &value);
                        object.permit(Permission::Everyone, Permission::Everyone)
                    };
                    let (one, two) = (random(4), random(4));
                    let _ = match random(4) {
                        0 => storage.delete(&by(user), vec![Delete::new(id("saves", &one.to_string(), user))]).await,
                        1 => {
                            let foreign = open(users[random(3) as usize], one, random(50) as usize);
                            storage.write(&by(user), vec![foreign, open(user, two, 3)]).await.map(|_| ())
                        }
                        2 => {
                            let owners = [users[random(3) as usize], users[random(3) as usize]];
                            let writes = owners.map(|owner| open(owner, one, random(50) as usize)).to_vec();
                            storage.write(&Caller::Server, writes).await.map(|_| ())
                        }
                        _ => {
                            let writes = vec![open(user, one, random(50) as usize), open(user, two, 1)];
                            storage.write(&by(user), writes).await.map(|_| ())
                        }
                    };
                }
            });
        }
        working.join_all().await;
        check_totals(&fixture).await;
        assert_ne!(fixture.count("SELECT count(*) FROM storage_totals WHERE objects > 0").await, 0, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_costs_the_same_whatever_the_user_has_stored() {
    const STORED: usize = 10_000;
    for fixture in fixtures().await {
        let storage = limited(&fixture, Some(1_000_000), Some(1 << 40));
        let (full, empty) = (fixture.user().await, fixture.user().await);
        for batch in (0..STORED).collect::<Vec<_>>().chunks(aether_services::storage::BATCH_MAX) {
            let writes = batch.iter().map(|number| write("saves", &format!("old-{number}"), full, r#"{"a":1}"#));
            storage.write(&Caller::Server, writes.collect()).await.expect(fixture.name);
        }
        // The fastest of several, because other programs delay single ones.
        let fastest = async |user| {
            let mut fastest = Duration::MAX;
            for number in 0..50 {
                let began = Instant::now();
                storage.write(&by(user), vec![write("saves", &number.to_string(), user, "{}")]).await.expect("it fits");
                fastest = fastest.min(began.elapsed());
            }
            fastest
        };
        let (of_empty, of_full) = (fastest(empty).await, fastest(full).await);
        assert!(of_full < of_empty * 3, "{}: {of_full:?} instead of {of_empty:?}", fixture.name);
        check_totals(&fixture).await;
    }
}
