//! Groups over real databases.

mod changes;
mod concurrency;
mod effects;
mod erasure;
mod lists;
mod model;
mod search;

use crate::fixture::{START_MS, error_of};
use aether_metrics::Registry;
use aether_services::clock::ManualClock;
use aether_services::group::{Group, GroupRole, Groups, NewGroup, RoleChange};
use aether_services::notification::Notifications;
use aether_services::router::Router;
use aether_services::{GrpcCode, ServiceError};
use aether_store::{Store, values};
use aether_testkit_store::{TestDatabase, databases, memory};
use std::sync::Arc;
use uuid::Uuid;

/// Groups with their dependencies.
struct Fixture {
    name: &'static str,
    store: Store,
    clock: Arc<ManualClock>,
    router: Arc<Router>,
    groups: Arc<Groups>,
    // Last, because the store must be closed before its database is removed.
    _database: TestDatabase,
}

impl Fixture {
    async fn over(database: TestDatabase) -> Fixture {
        let store = database.open().await;
        let clock = Arc::new(ManualClock::at(START_MS));
        let router = Arc::new(Router::new(&Registry::new()));
        let notifications = Notifications::new(store.clone(), clock.clone(), Arc::clone(&router), false);
        let groups = Groups::new(store.clone(), clock.clone(), Arc::clone(&router), Arc::new(notifications));
        Fixture { name: database.name, store, clock, router, groups: Arc::new(groups), _database: database }
    }

    /// Creates groups in memory.
    async fn new() -> Fixture {
        Fixture::over(memory()).await
    }

    /// Creates a fixture for each kind of database.
    async fn all() -> Vec<Fixture> {
        let mut fixtures = Vec::new();
        for database in databases() {
            fixtures.push(Fixture::over(database).await);
        }
        fixtures
    }

    /// Creates a user with this id and the name `user-<number>`.
    async fn user(&self, number: u128) -> Uuid {
        self.users(number, 1).await[0]
    }

    /// Creates users with ids from a number on.
    async fn users(&self, first: u128, count: u128) -> Vec<Uuid> {
        let ids: Vec<Uuid> = (first..first + count).map(Uuid::from_u128).collect();
        let users = ids.clone();
        let inserted = self.store.write(move |transaction| {
            let insert = "INSERT INTO users (id, username, created_at, updated_at) VALUES (?1, ?2, 1, 1)";
            for id in &users {
                transaction.execute(insert, values![*id, &format!("user-{}", id.as_u128())])?;
            }
            Ok::<_, aether_store::StoreError>(())
        });
        inserted.await.expect("users can be created");
        ids
    }

    /// Creates an open group of a user.
    async fn group(&self, user: Uuid, name: &str) -> Group {
        self.create(user, new(name)).await.expect("a group can be created")
    }

    async fn create(&self, user: Uuid, new: NewGroup) -> Result<Group, ServiceError> {
        self.clock.advance_ms(1);
        self.groups.create(user, new).await
    }

    async fn change(&self, by: Uuid, group: &Group, change: RoleChange, user: Uuid) -> Result<(), ServiceError> {
        self.clock.advance_ms(1);
        self.groups.change_roles(Some(by), group.id, change, vec![user]).await
    }

    /// Returns all users of a group with their roles, as numbers.
    async fn roles(&self, group: &Group) -> Vec<(u128, i64)> {
        let group = group.id;
        let select = "SELECT user_id, role FROM group_members WHERE group_key = ?1 ORDER BY user_id";
        let read = self.store.read(move |transaction| {
            transaction.rows(select, values![group], |row| Ok((row.get::<Uuid>(0)?.as_u128(), row.get::<i64>(1)?)))
        });
        read.await.map_err(|error: aether_store::StoreError| error).expect("roles can be read")
    }

    /// Returns the current state of a group.
    async fn find(&self, group: &Group) -> Option<Group> {
        self.groups.by_ids(vec![group.id]).await.expect("groups can be read").pop()
    }

    async fn edge_count(&self, group: &Group) -> i64 {
        self.find(group).await.expect("the group exists").edge_count
    }
}

/// An open group of the default size.
fn new(name: &str) -> NewGroup {
    NewGroup { name: name.to_owned(), is_open: true, ..NewGroup::default() }
}

/// A closed group.
fn closed(name: &str) -> NewGroup {
    NewGroup { is_open: false, ..new(name) }
}

/// Asserts that a call is rejected, by the code and a part of the message.
fn assert_rejected<T: std::fmt::Debug>(outcome: Result<T, ServiceError>, code: GrpcCode, part: &str) {
    let (found, message) = error_of(outcome);
    assert_eq!(found, code, "{message}");
    assert!(message.contains(part), "{message}");
}

const SUPERADMIN: i64 = GroupRole::Superadmin as i64;
const ADMIN: i64 = GroupRole::Admin as i64;
const MEMBER: i64 = GroupRole::Member as i64;
const JOIN_REQUEST: i64 = GroupRole::JoinRequest as i64;
const BANNED: i64 = GroupRole::Banned as i64;
