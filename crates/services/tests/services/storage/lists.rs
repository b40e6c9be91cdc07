//! Lists of a collection.

use crate::fixture::{Fixture, error_of, fixtures};
use crate::objects::{by, write};
use aether_services::storage::{LIST_MAX, Permission};
use aether_services::{Caller, GrpcCode};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Ann, Ben and the server have a private, an own and a public object in each of four rounds, and in another
/// collection.
async fn filled(fixture: &Fixture) -> (Uuid, Uuid) {
    use Permission::{Everyone, Nobody, Owner};
    let (ann, ben) = (fixture.user().await, fixture.user().await);
    for round in 0..4 {
        for owner in [ann, ben, Uuid::nil()] {
            let made = [("private", Nobody), ("own", Owner), ("public", Everyone)]
                .map(|(name, read)| write("saves", &format!("{name}{round}"), owner, "{}").permit(read, Owner));
            fixture.storage().write(&Caller::Server, made.to_vec()).await.expect(fixture.name);
        }
    }
    let elsewhere = write("others", "public", ann, "{}").permit(Everyone, Owner);
    fixture.storage().write(&Caller::Server, vec![elsewhere]).await.expect(fixture.name);
    (ann, ben)
}

/// Returns all objects of a list, page by page, and checks that each occurs once.
async fn all(fixture: &Fixture, caller: &Caller, owner: Option<Uuid>, limit: i32) -> BTreeSet<(Uuid, String)> {
    let mut found = BTreeSet::new();
    let mut cursor = String::new();
    loop {
        let page = fixture.storage().list(caller, "saves", owner, limit, &cursor).await.expect(fixture.name);
        assert!(page.objects.len() <= limit as usize);
        assert!(!page.objects.is_empty(), "a cursor leads to something");
        for object in page.objects {
            assert!(found.insert((object.id.owner, object.id.key)), "{}: twice", fixture.name);
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
async fn a_list_shows_what_the_caller_may_read_for_any_page_size() {
    for fixture in fixtures().await {
        let (ann, ben) = filled(&fixture).await;
        let none = Uuid::nil();
        for limit in [1, 2, 3, 5, LIST_MAX] {
            let everything = expected(&[ann, ben, none], &["private", "own", "public"]);
            assert_eq!(all(&fixture, &Caller::Server, None, limit).await, everything, "{}", fixture.name);
            let of_ben = expected(&[ben], &["private", "own", "public"]);
            assert_eq!(all(&fixture, &Caller::Server, Some(ben), limit).await, of_ben);
            assert_eq!(all(&fixture, &by(ann), Some(ann), limit).await, expected(&[ann], &["own", "public"]));
            assert_eq!(all(&fixture, &by(ann), Some(ben), limit).await, expected(&[ben], &["public"]));
            assert_eq!(all(&fixture, &by(ann), Some(none), limit).await, expected(&[none], &["public"]));
            assert_eq!(all(&fixture, &by(ann), None, limit).await, expected(&[ann, ben, none], &["public"]));
        }
        let empty = fixture.storage().list(&by(ann), "nothing", None, 10, "").await.expect(fixture.name);
        assert_eq!((empty.objects.len(), empty.cursor.as_str()), (0, ""));
    }
}

#[tokio::test]
async fn wrong_limits_collections_and_cursors_are_rejected() {
    for fixture in fixtures().await {
        let user = fixture.user().await;
        let list = async |collection: &str, limit: i32, cursor: &str| {
            error_of(fixture.storage().list(&by(user), collection, None, limit, cursor).await).0
        };
        for limit in [i32::MIN, -1, 0, LIST_MAX + 1, i32::MAX] {
            assert_eq!(list("saves", limit, "").await, GrpcCode::InvalidArgument);
        }
        for collection in ["", "sa\0ves"] {
            assert_eq!(list(collection, 10, "").await, GrpcCode::InvalidArgument);
        }
        let with_zero = aether_services::cursor::encode(&serde_json::json!({ "key": "a\0", "owner": Uuid::nil() }));
        for cursor in ["x", "e30", "!!", &with_zero, &"A".repeat(5_000)] {
            assert_eq!(list("saves", 10, cursor).await, GrpcCode::InvalidArgument, "{}: {cursor}", fixture.name);
        }
        let stranger = fixture.storage().list(&Caller::Anonymous, "saves", None, 10, "").await;
        assert_eq!(error_of(stranger).0, GrpcCode::Unauthenticated);
    }
}
