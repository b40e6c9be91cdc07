//! Transitions of relations, bad input, limits and concurrency.

use super::{World, ids, live_codes};
use crate::fixture::error_of;
use aether_services::GrpcCode;
use aether_services::friend::FriendState::{Blocked, Friend, InviteReceived, InviteSent};
use aether_services::friend::{
    BLOCKED_MAX, FRIENDS_MAX, INVITES_RECEIVED_MAX, METADATA_BYTES_MAX, NamedUsers, USERS_PER_CALL_MAX, is_blocked,
};
use aether_store::{StoreError, Transaction};
use std::sync::Arc;
use uuid::Uuid;

#[tokio::test]
async fn an_invite_and_its_acceptance_make_friends() {
    for world in World::all().await {
        let [ann, bob] = world.users().await;
        let socket = world.connect(bob);
        world.add(ann, bob).await;
        assert_eq!(
            (world.state(ann, bob).await, world.state(bob, ann).await),
            (Some(InviteSent), Some(InviteReceived))
        );
        assert_eq!(live_codes(&socket), [-2]);
        world.add(ann, bob).await;
        assert_eq!(world.codes(bob).await, [-2], "an invite that waits is not sent again");
        world.add(bob, ann).await;
        assert_eq!((world.state(ann, bob).await, world.state(bob, ann).await), (Some(Friend), Some(Friend)));
        assert_eq!(world.codes(ann).await, [-3], "{}", world.fixture.name);
        world.add(bob, ann).await;
        assert_eq!(world.codes(ann).await, [-3], "friends stay friends");
        assert_eq!((world.edge_count(ann).await, world.edge_count(bob).await), (1, 1));
    }
}

#[tokio::test]
async fn deleting_ends_invites_and_friendships_on_both_sides() {
    for world in World::all().await {
        let [ann, bob] = world.users().await;
        world.add(ann, bob).await;
        world.delete(ann, bob).await.expect("it takes the invite back");
        assert_eq!((world.edges(ann).await.len(), world.edges(bob).await.len()), (0, 0));
        world.add(ann, bob).await;
        world.delete(bob, ann).await.expect("it rejects the invite");
        assert_eq!((world.edges(ann).await.len(), world.edges(bob).await.len()), (0, 0));
        assert!(world.codes(ann).await.is_empty(), "the sender is not told");
        world.befriend(ann, bob).await;
        world.delete(bob, ann).await.expect("it ends the friendship");
        assert_eq!(world.codes(ann).await, [-3, -9], "{}", world.fixture.name);
        world.delete(bob, ann).await.expect("nothing to delete");
        assert_eq!(world.codes(ann).await, [-3, -9]);
        world.check_counts().await;
    }
}

#[tokio::test]
async fn a_block_ends_a_friendship_and_ignores_invites() {
    for world in World::all().await {
        let [ann, bob] = world.users().await;
        world.befriend(ann, bob).await;
        let told = world.codes(bob).await;
        world.block(ann, bob).await;
        assert_eq!((world.state(ann, bob).await, world.state(bob, ann).await), (Some(Blocked), None));
        assert_eq!(world.codes(bob).await, told, "a block is not announced");
        world.add(bob, ann).await;
        assert_eq!((world.edges(bob).await.len(), world.codes(ann).await), (0, vec![-3]), "the invite is ignored");
        let error = error_of(world.friends.add(ann, ids(&[bob]), "").await);
        assert_eq!(error.0, GrpcCode::FailedPrecondition, "{}", error.1);
        let blocked = |a, b| {
            world.fixture.store.read(move |transaction: &mut Transaction<'_>| {
                Ok::<_, StoreError>((is_blocked(transaction, a, b)?, is_blocked(transaction, b, a)?))
            })
        };
        assert_eq!(blocked(ann, bob).await.expect("it can be read"), (true, true), "{}", world.fixture.name);
        world.delete(bob, ann).await.expect("it changes nothing");
        assert_eq!(world.state(ann, bob).await, Some(Blocked), "only the one who blocks ends it");
        world.block(bob, ann).await;
        world.delete(ann, bob).await.expect("it ends the own block");
        assert_eq!((world.state(ann, bob).await, world.state(bob, ann).await), (None, Some(Blocked)));
        world.delete(bob, ann).await.expect("it ends the other block");
        assert_eq!(blocked(ann, bob).await.expect("it can be read"), (false, false));
        world.check_counts().await;
    }
}

#[tokio::test]
async fn users_are_named_by_id_and_username_all_or_none() {
    for world in World::all().await {
        let [ann, bob, cid] = world.users().await;
        let others = NamedUsers { ids: vec![bob, bob, Uuid::new_v4()], usernames: vec![cid.to_string(), "no".into()] };
        world.friends.add(ann, others, r#"{"note":"met at the fair"}"#).await.expect("unknown users are ignored");
        assert_eq!(world.edges(ann).await.len(), 2, "{}", world.fixture.name);
        let page = world.friends.list(ann, None, None, "").await.expect("the query is valid");
        assert!(page.friends.iter().all(|friend| friend.metadata == r#"{"note":"met at the fair"}"#));
        let page = world.friends.list(bob, None, None, "").await.expect("the query is valid");
        assert_eq!(page.friends[0].metadata, "{}", "it is the sender's");
        world.friends.add(ann, ids(&[bob]), r#"{"note":"new"}"#).await.expect("it changes the metadata");
        world.friends.add(ann, ids(&[cid]), "").await.expect("it keeps the metadata");
        let page = world.friends.list(ann, None, None, "").await.expect("the query is valid");
        let notes: Vec<_> = page.friends.iter().map(|friend| (friend.user.id == bob, friend.metadata.len())).collect();
        assert!(notes.contains(&(true, 14)) && notes.contains(&(false, 26)), "{notes:?}");
        // A failure on one user leaves the others as they were.
        let [dan] = world.users().await;
        world.block(ann, dan).await;
        let [eve] = world.users().await;
        assert!(world.friends.add(ann, ids(&[eve, dan]), "").await.is_err());
        assert_eq!((world.edges(eve).await.len(), world.codes(eve).await.len()), (0, 0));
        world.check_counts().await;
    }
}

#[tokio::test]
async fn bad_input_is_rejected() {
    for world in World::all().await {
        let [ann, bob] = world.users().await;
        let own_name = NamedUsers { ids: vec![bob], usernames: vec![ann.to_string()] };
        let nobody = NamedUsers { ids: vec![Uuid::new_v4()], usernames: vec!["nobody".to_owned()] };
        let many = NamedUsers { ids: vec![bob; USERS_PER_CALL_MAX + 1], usernames: Vec::new() };
        let odd = NamedUsers { ids: Vec::new(), usernames: vec!["a\0b".to_owned()] };
        for (others, message) in [
            (ids(&[bob, ann]), "Cannot add self as friend."),
            (own_name, "Cannot add self as friend."),
            (nobody, "No valid ID or username was provided."),
            (NamedUsers::default(), "No valid ID or username was provided."),
            (many, "At most 100 ids and 100 usernames can be sent."),
            (odd, "A username must not contain control characters."),
        ] {
            let error = error_of(world.friends.add(ann, others, "").await);
            assert_eq!(error, (GrpcCode::InvalidArgument, message.to_owned()));
        }
        assert_eq!(error_of(world.friends.block(ann, ids(&[ann])).await).1, "Cannot block self.");
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(METADATA_BYTES_MAX));
        for metadata in ["[]", "{", "text", &long] {
            let error = error_of(world.friends.add(ann, ids(&[bob]), metadata).await);
            assert_eq!(error.0, GrpcCode::InvalidArgument, "{}", error.1);
        }
        let gone = Uuid::new_v4();
        assert_eq!(error_of(world.friends.add(gone, ids(&[bob]), "").await).0, GrpcCode::NotFound);
        assert!(world.edges(bob).await.is_empty(), "{}", world.fixture.name);
    }
}

impl World {
    /// Gives a user edges of a state, to users that do not exist.
    async fn fill(&self, user: Uuid, state: i64, count: i64) {
        let id = match self.fixture.name {
            "postgres" => "lpad(to_hex(number), 32, '0')::uuid",
            _ => "unhex(printf('%032x', number))",
        };
        let fill = format!(
            "WITH RECURSIVE numbers (number) AS
                (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < {count})
             INSERT INTO friend_edges (user_id, other_id, state, updated_at) SELECT ?1, {id}, {state}, 1 FROM numbers"
        );
        self.execute(fill, user).await;
        self.execute(format!("UPDATE users SET edge_count = {count} WHERE id = ?1"), user).await;
    }
}

#[tokio::test]
async fn friends_invites_and_blocks_are_limited_apart() {
    for world in World::all().await {
        for (state, max) in [(1, FRIENDS_MAX), (2, INVITES_RECEIVED_MAX), (3, BLOCKED_MAX)] {
            let [ann, bob, cid] = world.users().await;
            world.fill(ann, state, max - 1).await;
            let act = async |other: Uuid| match state {
                1 => world.friends.add(ann, ids(&[other]), "").await,
                2 => world.friends.add(other, ids(&[ann]), "").await,
                _ => world.friends.block(ann, ids(&[other])).await,
            };
            if state != 2 {
                let both = world.friends.add(ann, ids(&[bob, cid]), "").await;
                assert_eq!(both.is_err(), state == 1, "two do not fit");
                world.delete(ann, bob).await.expect("it was added or not");
                world.delete(ann, cid).await.expect("it was added or not");
            }
            act(bob).await.expect("one more fits");
            let error = error_of(act(cid).await);
            assert_eq!(error.0, GrpcCode::ResourceExhausted, "{} {state}: {}", world.fixture.name, error.1);
            let [dan] = world.users().await;
            // A full list of one kind leaves room for the others.
            match state {
                3 => world.friends.add(ann, ids(&[dan]), "").await.expect("friends have room"),
                _ => world.friends.block(ann, ids(&[dan])).await.expect("blocks have room"),
            }
        }
    }
}

#[tokio::test]
async fn counts_are_right_after_concurrent_changes() {
    for world in World::all().await {
        let users: [Uuid; 6] = world.users().await;
        let tasks: Vec<_> = (0..100_usize)
            .map(|number| {
                let friends = Arc::clone(&world.friends);
                let (user, other) = (users[number % 6], users[(number * 7 + 1) % 6]);
                let third = users[(number * 5 + 3) % 6];
                tokio::spawn(async move {
                    let others = [other, third].into_iter().filter(|one| *one != user).collect::<Vec<_>>();
                    if others.is_empty() {
                        return;
                    }
                    let outcome = match number % 5 {
                        0 => friends.delete(user, ids(&others)).await,
                        1 => friends.block(user, ids(&others)).await,
                        _ => friends.add(user, ids(&others), "").await,
                    };
                    if let Err(error) = outcome {
                        assert_eq!(error.code, GrpcCode::FailedPrecondition, "only an own block refuses: {error}");
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no call panics");
        }
        world.check_counts().await;
        for user in users {
            for (other, state) in world.edges(user).await {
                let back = world.state(other, user).await;
                let expected = match state {
                    Friend => back == Some(Friend),
                    InviteSent => back == Some(InviteReceived),
                    InviteReceived => back == Some(InviteSent),
                    Blocked => back.is_none() || back == Some(Blocked),
                };
                assert!(expected, "{}: {state:?} and {back:?}", world.fixture.name);
            }
        }
    }
}

#[tokio::test]
async fn metadata_changes_on_the_side_of_one_user() {
    for world in World::all().await {
        let [ann, bob, eve] = world.users().await;
        world.befriend(ann, bob).await;
        world.friends.update_metadata(ann, bob, r#"{"a":1}"#).await.expect("they are friends");
        let metadata = async |user| {
            let page = world.friends.list(user, None, None, "").await.expect("valid");
            page.friends.into_iter().map(|friend| (friend.metadata, friend.state)).collect::<Vec<_>>()
        };
        assert_eq!(metadata(ann).await, [(r#"{"a":1}"#.to_owned(), Friend)], "{}", world.fixture.name);
        assert_eq!(metadata(bob).await, [("{}".to_owned(), Friend)]);
        assert_eq!(error_of(world.friends.update_metadata(ann, eve, "{}").await).0, GrpcCode::NotFound);
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(METADATA_BYTES_MAX));
        for text in ["[]", "", long.as_str()] {
            assert_eq!(error_of(world.friends.update_metadata(ann, bob, text).await).0, GrpcCode::InvalidArgument);
        }
    }
}
