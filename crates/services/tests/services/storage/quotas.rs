//! How much one user may keep.

use crate::fixture::{World, refusal, worlds};
use crate::objects::{by, id, write};
use aether_services::storage::{Delete, Permission, Quota, Storage};
use aether_services::{Caller, GrpcCode};
use std::sync::Arc;
use tokio::task::JoinSet;

fn limited(world: &World, objects_max: Option<u64>, bytes_max: Option<u64>) -> Storage {
    world.storage().with_quota(Quota { objects_max, bytes_max })
}

#[tokio::test]
async fn a_user_keeps_only_so_many_objects_and_is_told_what_to_do() {
    for world in worlds().await {
        let (ann, ben) = (world.user().await, world.user().await);
        let storage = limited(&world, Some(2), None);
        let put = async |key: &str| storage.write(&by(ann), vec![write("saves", key, ann, "{}")]).await;
        put("a").await.expect(world.name);
        put("b").await.expect(world.name);
        let sentence = "A user may store at most 2 objects. Delete some first.".to_owned();
        assert_eq!(refusal(put("c").await), (GrpcCode::FailedPrecondition, sentence), "{}", world.name);
        put("a").await.expect("what is there may be written again");
        storage.write(&by(ben), vec![write("saves", "a", ben, "{}")]).await.expect("another is not concerned");
        storage.delete(&by(ann), vec![Delete::new(id("saves", "a", ann))]).await.expect(world.name);
        put("c").await.expect("there is room again");
        assert_eq!(world.count("SELECT count(*) FROM storage_objects").await, 3, "{}", world.name);
    }
}

#[tokio::test]
async fn bytes_are_counted_as_bytes_and_a_batch_as_a_whole() {
    for world in worlds().await {
        let ann = world.user().await;
        let storage = limited(&world, None, Some(24));
        // Two of its characters take two bytes each.
        let value = r#"{"a":"éé"}"#;
        assert_eq!(value.len(), 12);
        let writes = ["a", "b", "c"].map(|key| write("saves", key, ann, value)).to_vec();
        let refused = refusal(storage.write(&by(ann), writes).await);
        assert_eq!(refused.0, GrpcCode::FailedPrecondition, "{}", world.name);
        assert_eq!(refused.1, "A user may store at most 24 bytes. Delete some objects first.");
        assert_eq!(world.count("SELECT count(*) FROM storage_objects").await, 0, "{}: all or nothing", world.name);
        let writes = ["a", "b"].map(|key| write("saves", key, ann, value)).to_vec();
        storage.write(&by(ann), writes).await.expect("as much as fits");
        let longer = write("saves", "a", ann, r#"{"a":"ééé"}"#);
        assert_eq!(refusal(storage.write(&by(ann), vec![longer]).await).0, GrpcCode::FailedPrecondition);
    }
}

#[tokio::test]
async fn the_server_is_not_bound_and_neither_is_who_changes_what_another_has_opened() {
    for world in worlds().await {
        let (ann, ben) = (world.user().await, world.user().await);
        let storage = limited(&world, Some(1), None);
        let open = |key: &str| write("saves", key, ann, "{}").permit(Permission::Everyone, Permission::Everyone);
        storage.write(&Caller::Server, vec![open("a"), open("b")]).await.expect("the server does as it wants");
        storage.write(&by(ben), vec![open("a")]).await.expect("it is not Ben who keeps it");
        assert_eq!(refusal(storage.write(&by(ann), vec![open("a")]).await).0, GrpcCode::FailedPrecondition);
        storage.delete(&by(ann), vec![Delete::new(id("saves", "b", ann))]).await.expect("deleting always works");
        storage.write(&by(ann), vec![open("a")]).await.expect("now it fits");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_writes_at_once_are_no_way_around() {
    for world in worlds().await {
        let (name, ann) = (world.name, world.user().await);
        let storage = Arc::new(limited(&world, Some(10), None));
        let mut writing = JoinSet::new();
        for number in 0..40 {
            let storage = Arc::clone(&storage);
            writing.spawn(async move {
                let object = write("saves", &number.to_string(), ann, "{}");
                storage.write(&by(ann), vec![object]).await.map_err(|refusal| refusal.code)
            });
        }
        let outcomes = writing.join_all().await;
        let kept = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        let full = outcomes.iter().filter(|outcome| matches!(outcome, Err(GrpcCode::FailedPrecondition))).count();
        assert_eq!((kept, full), (10, 30), "{name}");
        assert_eq!(world.count("SELECT count(*) FROM storage_objects").await, 10, "{name}");
    }
}
