//! Lists of friends, and of friends of friends.

use super::{World, ids};
use crate::fixture::error_of;
use aether_services::GrpcCode;
use aether_services::friend::{FriendState, LIST_BYTES_MAX, LISTED_MAX, OF_FRIENDS_LISTED_MAX, USERS_PER_CALL_MAX};
use std::collections::BTreeSet;
use uuid::Uuid;

#[tokio::test]
async fn edges_to_given_users_are_found() {
    for world in World::all().await {
        let [ann, bob, cid, dan, eve] = world.users().await;
        world.befriend(ann, bob).await;
        world.add(ann, cid).await;
        world.block(ann, eve).await;
        let found = world.friends.among(ann, vec![bob, cid, dan, bob]).await.expect("these are few");
        let states: BTreeSet<_> = found.iter().map(|friend| (friend.user.id, friend.state.number())).collect();
        let expected = [(bob, FriendState::Friend), (cid, FriendState::InviteSent)];
        assert_eq!(states, expected.map(|(user, state)| (user, state.number())).into(), "{}", world.fixture.name);
        assert_eq!(world.friends.among(ann, Vec::new()).await, Ok(Vec::new()));
        let many = world.friends.among(ann, vec![bob; USERS_PER_CALL_MAX + 1]).await;
        assert_eq!(error_of(many).0, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn friends_are_listed_by_state_in_pages() {
    for world in World::all().await {
        let [ann, bob, cid, dan, eve] = world.users().await;
        for friend in [cid, bob] {
            world.befriend(ann, friend).await;
            world.fixture.clock.advance_ms(10);
        }
        world.add(ann, dan).await;
        world.block(ann, eve).await;
        let (mut listed, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = world.friends.list(ann, None, Some(1), &cursor).await.expect("the query is valid");
            listed.extend(page.friends.into_iter().map(|friend| (friend.user.id, friend.state)));
            cursor = page.cursor;
            if cursor.is_empty() {
                break;
            }
        }
        let expected = [
            (cid, FriendState::Friend),
            (bob, FriendState::Friend),
            (dan, FriendState::InviteSent),
            (eve, FriendState::Blocked),
        ];
        assert_eq!(listed, expected, "{}", world.fixture.name);
        let friends = world.friends.list(ann, Some(FriendState::Friend), Some(1), "").await.expect("it is valid");
        assert_eq!(friends.friends[0].user.id, cid);
        let rest = world.friends.list(ann, Some(FriendState::Friend), None, &friends.cursor).await.expect("valid");
        assert_eq!((rest.friends.len(), rest.friends[0].user.id, rest.cursor.as_str()), (1, bob, ""));
        assert_eq!(rest.friends[0].user.edge_count, 1);
        let other_filter = world.friends.list(ann, None, None, &friends.cursor).await;
        assert_eq!(error_of(other_filter).1, "Cursor is invalid or expired.");
        for limit in [0, -1, LISTED_MAX + 1] {
            let outcome = world.friends.list(ann, None, Some(limit), "").await;
            assert_eq!(error_of(outcome).0, GrpcCode::InvalidArgument);
        }
        assert_eq!(error_of(world.friends.list(ann, None, None, "?").await).0, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn a_list_of_many_bytes_ends_early_and_continues() {
    let world = World::all().await.remove(0);
    let [ann] = world.users().await;
    let text = "x".repeat(60_000);
    let mut all = BTreeSet::new();
    for _ in 0..LIST_BYTES_MAX / 60_000 + 5 {
        let [friend] = world.users().await;
        let metadata = format!("UPDATE users SET metadata = '{{\"a\":\"{text}\"}}' WHERE id = ?1");
        world.execute(metadata, friend).await;
        world.add(ann, friend).await;
        all.insert(friend);
    }
    let first = world.friends.list(ann, None, None, "").await.expect("the query is valid");
    assert!(first.friends.len() < all.len() && !first.cursor.is_empty());
    let rest = world.friends.list(ann, None, None, &first.cursor).await.expect("the query is valid");
    let listed: BTreeSet<Uuid> = first.friends.iter().chain(&rest.friends).map(|friend| friend.user.id).collect();
    assert_eq!((listed, rest.cursor.as_str()), (all, ""));
}

#[tokio::test]
async fn friends_of_friends_leave_out_friends_and_blocks() {
    for world in World::all().await {
        let [ann, bob, cid, dan, eve, fay, gus] = world.users().await;
        for (one, other) in [(ann, bob), (ann, cid), (bob, cid), (bob, dan), (bob, eve), (cid, fay), (bob, gus)] {
            world.befriend(one, other).await;
        }
        world.block(ann, dan).await;
        world.block(eve, ann).await;
        let list = async |limit, cursor: &str| {
            let page = world.friends.list_of_friends(ann, limit, cursor).await.expect("the query is valid");
            let found = page.friends_of_friends.into_iter().map(|found| (found.referrer, found.user.id));
            (found.collect::<BTreeSet<_>>(), page.cursor)
        };
        let all = BTreeSet::from([(bob, gus), (cid, fay)]);
        assert_eq!(list(None, "").await, (all.clone(), String::new()), "{}", world.fixture.name);
        let (mut found, mut cursor, mut pages) = (BTreeSet::new(), String::new(), 0);
        loop {
            let (page, next) = list(Some(1), &cursor).await;
            assert!(page.len() <= 1);
            found.extend(page);
            pages += 1;
            cursor = next;
            if cursor.is_empty() {
                break;
            }
        }
        assert_eq!(found, all, "in {pages} pages");
        world.befriend(cid, gus).await;
        assert_eq!(list(None, "").await.0.len(), 2, "once in a page, although two friends know them");
        for limit in [0, OF_FRIENDS_LISTED_MAX + 1] {
            let outcome = world.friends.list_of_friends(ann, Some(limit), "").await;
            assert_eq!(error_of(outcome).0, GrpcCode::InvalidArgument);
        }
        assert_eq!(error_of(world.friends.list_of_friends(ann, None, "?").await).0, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn a_user_without_friends_has_empty_lists() {
    for world in World::all().await {
        let [ann, bob] = world.users().await;
        assert!(world.edges(ann).await.is_empty());
        let page = world.friends.list_of_friends(ann, None, "").await.expect("the query is valid");
        assert!(page.friends_of_friends.is_empty() && page.cursor.is_empty(), "{}", world.fixture.name);
        world.friends.delete(ann, ids(&[bob])).await.expect("there is nothing to delete");
    }
}
