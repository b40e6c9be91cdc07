//! Lists of a collection.

use crate::fixture::{World, refusal, worlds};
use crate::objects::{by, write};
use aether_services::storage::{LIST_MAX, Permission};
use aether_services::{Caller, GrpcCode};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Ann, Ben and the server have a private, an own and a public object in each of four rounds; another collection too.
async fn filled(world: &World) -> (Uuid, Uuid) {
    use Permission::{Everyone, Nobody, Owner};
    let (ann, ben) = (world.user().await, world.user().await);
    for round in 0..4 {
        for owner in [ann, ben, Uuid::nil()] {
            let made = [("private", Nobody), ("own", Owner), ("public", Everyone)]
                .map(|(name, read)| write("saves", &format!("{name}{round}"), owner, "{}").permit(read, Owner));
            world.storage().write(&Caller::Server, made.to_vec()).await.expect(world.name);
        }
    }
    let elsewhere = write("others", "public", ann, "{}").permit(Everyone, Owner);
    world.storage().write(&Caller::Server, vec![elsewhere]).await.expect(world.name);
    (ann, ben)
}

/// All of a list, page by page; each object once.
async fn all(world: &World, caller: &Caller, owner: Option<Uuid>, limit: i32) -> BTreeSet<(Uuid, String)> {
    let mut found = BTreeSet::new();
    let mut cursor = String::new();
    loop {
        let page = world.storage().list(caller, "saves", owner, limit, &cursor).await.expect(world.name);
        assert!(page.objects.len() <= limit as usize);
        assert!(!page.objects.is_empty(), "a cursor leads to something");
        for object in page.objects {
            assert!(found.insert((object.id.owner, object.id.key)), "{}: twice", world.name);
        }
        if page.cursor.is_empty() {
            return found;
        }
        cursor = page.cursor;
    }
}

fn expected(owners: &[Uuid], names: &[&str]) -> BTreeSet<(Uuid, String)> {
    let of_owner = |owner: &Uuid| {
        let owner = *owner;
        names.iter().flat_map(move |name| (0..4).map(move |round| (owner, format!("{name}{round}"))))
    };
    owners.iter().flat_map(of_owner).collect()
}

#[tokio::test]
async fn a_list_shows_each_caller_what_they_may_read_whatever_the_size_of_its_pages() {
    for world in worlds().await {
        let (ann, ben) = filled(&world).await;
        let none = Uuid::nil();
        for limit in [1, 2, 3, 5, LIST_MAX] {
            let everything = expected(&[ann, ben, none], &["private", "own", "public"]);
            assert_eq!(all(&world, &Caller::Server, None, limit).await, everything, "{}", world.name);
            let of_ben = expected(&[ben], &["private", "own", "public"]);
            assert_eq!(all(&world, &Caller::Server, Some(ben), limit).await, of_ben);
            assert_eq!(all(&world, &by(ann), Some(ann), limit).await, expected(&[ann], &["own", "public"]));
            assert_eq!(all(&world, &by(ann), Some(ben), limit).await, expected(&[ben], &["public"]));
            assert_eq!(all(&world, &by(ann), Some(none), limit).await, expected(&[none], &["public"]));
            assert_eq!(all(&world, &by(ann), None, limit).await, expected(&[ann, ben, none], &["public"]));
        }
        let empty = world.storage().list(&by(ann), "nothing", None, 10, "").await.expect(world.name);
        assert_eq!((empty.objects.len(), empty.cursor.as_str()), (0, ""));
    }
}

#[tokio::test]
async fn wrong_limits_collections_and_cursors_are_refused() {
    for world in worlds().await {
        let user = world.user().await;
        let list = async |collection: &str, limit: i32, cursor: &str| {
            refusal(world.storage().list(&by(user), collection, None, limit, cursor).await).0
        };
        for limit in [i32::MIN, -1, 0, LIST_MAX + 1, i32::MAX] {
            assert_eq!(list("saves", limit, "").await, GrpcCode::InvalidArgument);
        }
        for collection in ["", "sa\0ves"] {
            assert_eq!(list(collection, 10, "").await, GrpcCode::InvalidArgument);
        }
        let with_zero = aether_services::cursor::encode(&serde_json::json!({ "key": "a\0", "owner": Uuid::nil() }));
        for cursor in ["x", "e30", "!!", &with_zero, &"A".repeat(5_000)] {
            assert_eq!(list("saves", 10, cursor).await, GrpcCode::InvalidArgument, "{}: {cursor}", world.name);
        }
        let stranger = world.storage().list(&Caller::Stranger, "saves", None, 10, "").await;
        assert_eq!(refusal(stranger).0, GrpcCode::Unauthenticated);
    }
}
