//! Friends: transitions, limits, lists, edge counts, imports and blocks.

mod blocks;
mod imports;
mod lists;
mod model;
mod rules;

use crate::fixture::{Fixture, fixtures};
use aether_messages::realtime::envelope::Message;
use aether_metrics::Registry;
use aether_services::ServiceError;
use aether_services::friend::{FriendState, Friends, NamedUsers};
use aether_services::notification::Notifications;
use aether_services::router::{OpenSocket, Router, SocketSession};
use aether_store::{StoreError, Transaction, values};
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

/// Friends of a fixture.
struct World {
    fixture: Fixture,
    router: Arc<Router>,
    notifications: Arc<Notifications>,
    friends: Arc<Friends>,
}

impl World {
    fn over(fixture: Fixture) -> World {
        let router = Arc::new(Router::new(&Registry::new()));
        let (store, clock) = (fixture.store.clone(), fixture.clock.clone());
        let notifications = Arc::new(Notifications::new(store.clone(), clock.clone(), Arc::clone(&router), false));
        let friends = Friends::new(store, clock, Arc::clone(&router), Arc::clone(&notifications));
        World { fixture, router, notifications, friends: Arc::new(friends) }
    }

    async fn all() -> Vec<World> {
        fixtures().await.into_iter().map(World::over).collect()
    }

    async fn users<const N: usize>(&self) -> [Uuid; N] {
        let mut users = Vec::new();
        for _ in 0..N {
            users.push(self.fixture.user().await);
        }
        users.try_into().expect("there are as many")
    }

    fn connect(&self, user: Uuid) -> OpenSocket {
        let session = Uuid::new_v4();
        let socket = SocketSession { session, user, username: "someone".into(), node: "test".into() };
        self.router.open(socket).expect("the session is new")
    }

    async fn add(&self, user: Uuid, other: Uuid) {
        self.friends.add(user, ids(&[other]), "").await.expect("it is allowed");
    }

    async fn befriend(&self, user: Uuid, other: Uuid) {
        self.add(user, other).await;
        self.add(other, user).await;
    }

    async fn block(&self, user: Uuid, other: Uuid) {
        self.friends.block(user, ids(&[other])).await.expect("it is allowed");
    }

    async fn delete(&self, user: Uuid, other: Uuid) -> Result<(), ServiceError> {
        self.friends.delete(user, ids(&[other])).await
    }

    /// Returns the edges of a user.
    async fn edges(&self, user: Uuid) -> BTreeMap<Uuid, FriendState> {
        let page = self.friends.list(user, None, None, "").await.expect("the query is valid");
        page.friends.into_iter().map(|friend| (friend.user.id, friend.state)).collect()
    }

    /// Returns the edge of a user to another one.
    async fn state(&self, user: Uuid, other: Uuid) -> Option<FriendState> {
        self.edges(user).await.remove(&other)
    }

    async fn edge_count(&self, user: Uuid) -> i64 {
        let select = "SELECT edge_count FROM users WHERE id = ?1";
        let read = self.fixture.store.read::<_, StoreError>(move |transaction: &mut Transaction<'_>| {
            transaction.row(select, values![user], |row| row.get::<i64>(0))
        });
        read.await.expect("it can be read").expect("the user exists")
    }

    /// Asserts that all edge counts are right.
    async fn check_counts(&self) {
        let wrong = "SELECT count(*) FROM users u
            WHERE edge_count <> (SELECT count(*) FROM friend_edges e WHERE e.user_id = u.id)";
        assert_eq!(self.fixture.count(wrong).await, 0, "{}", self.fixture.name);
    }

    /// Returns the codes of stored notifications of a user, oldest first.
    async fn codes(&self, user: Uuid) -> Vec<i32> {
        let page = self.notifications.list(user, Some(100), "").await.expect("the query is valid");
        page.notifications.iter().map(|one| one.code).collect()
    }

    async fn execute(&self, sql: String, user: Uuid) {
        let done = self
            .fixture
            .store
            .write::<_, StoreError>(move |transaction: &mut Transaction<'_>| transaction.execute(&sql, values![user]));
        done.await.expect("the statement is right");
    }
}

fn ids(ids: &[Uuid]) -> NamedUsers {
    NamedUsers { ids: ids.to_vec(), usernames: Vec::new() }
}

/// Returns the codes of the notifications that a socket got.
fn live_codes(socket: &OpenSocket) -> Vec<i32> {
    let messages = std::iter::from_fn(|| socket.outbox.take()?.into_message());
    let codes = messages.filter_map(|message| match &message.envelope().message {
        Some(Message::Notifications(list)) => Some(list.notifications.iter().map(|one| one.code).collect::<Vec<_>>()),
        _ => None,
    });
    codes.flatten().collect()
}
