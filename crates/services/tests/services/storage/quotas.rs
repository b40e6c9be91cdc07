//! Storage quotas.

use crate::fixture::{Fixture, error_of, fixtures};
use crate::objects::{by, id, write};
use aether_services::storage::{Delete, Permission, Quota, Storage};
use aether_services::{Caller, GrpcCode};
use std::sync::Arc;
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
