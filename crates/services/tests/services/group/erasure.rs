//! Groups of accounts that are erased.

use super::*;
use aether_services::account::{Accounts, Settings};
use aether_services::session::Revocations;

impl Fixture {
    fn accounts(&self) -> Arc<Accounts> {
        let revocations = Arc::new(Revocations::default());
        Arc::new(Accounts::new(self.store.clone(), self.clock.clone(), revocations, Settings::default()))
    }
}

#[tokio::test]
async fn the_longest_serving_admin_follows_the_last_superadmin_and_then_a_member() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 5).await;
        let group = fixture.group(users[0], "Owls").await;
        // The last user joins first.
        for user in [users[4], users[2], users[1], users[3]] {
            fixture.clock.advance_ms(1);
            fixture.groups.join(group.id, user).await.expect("it is open");
        }
        for user in [users[1], users[2]] {
            fixture.change(users[0], &group, RoleChange::Promote, user).await.expect("it may");
        }
        let accounts = fixture.accounts();
        accounts.delete(users[0]).await.expect("it exists");
        let expected = [(2, ADMIN), (3, SUPERADMIN), (4, MEMBER), (5, MEMBER)];
        assert_eq!(fixture.roles(&group).await, expected, "{}", fixture.name);
        let found = fixture.find(&group).await.expect("it exists");
        assert_eq!((found.creator, found.edge_count), (Uuid::nil(), 4));
        accounts.delete(users[1]).await.expect("it exists");
        accounts.delete(users[2]).await.expect("it exists");
        assert_eq!(fixture.roles(&group).await, [(4, MEMBER), (5, SUPERADMIN)], "{}", fixture.name);
        accounts.delete(users[3]).await.expect("it exists");
        accounts.delete(users[4]).await.expect("it exists");
        assert_eq!(fixture.find(&group).await, None, "a group without members is deleted");
    }
}

#[tokio::test]
async fn requests_and_bans_of_an_erased_account_do_not_count() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 3).await;
        let group = fixture.create(users[0], closed("Owls")).await.expect("valid");
        fixture.groups.join(group.id, users[1]).await.expect("a request");
        fixture.change(users[0], &group, RoleChange::Ban, users[2]).await.expect("it may");
        let accounts = fixture.accounts();
        accounts.delete(users[1]).await.expect("it exists");
        accounts.delete(users[2]).await.expect("it exists");
        assert_eq!(fixture.roles(&group).await, [(1, SUPERADMIN)], "{}", fixture.name);
        assert_eq!(fixture.edge_count(&group).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn erasures_and_changes_at_once_keep_the_count() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 24).await;
        let group = fixture.group(users[0], "Owls").await;
        fixture.groups.add(None, group.id, users.clone()).await.expect("the server may");
        let (accounts, id) = (fixture.accounts(), group.id);
        let tasks: Vec<_> = users
            .iter()
            .map(|user| {
                let (accounts, groups, user) = (Arc::clone(&accounts), Arc::clone(&fixture.groups), *user);
                let others = vec![users[1], users[2]];
                tokio::spawn(async move {
                    match user.as_u128() % 3 {
                        0 => accounts.delete(user).await.expect("it exists"),
                        1 => groups.change_roles(None, id, RoleChange::Promote, vec![user]).await.expect("a member"),
                        // One of them may be erased.
                        _ => drop(groups.add(Some(user), id, others).await),
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no task fails");
        }
        let roles = fixture.roles(&group).await;
        assert_eq!((roles.len(), fixture.edge_count(&group).await), (16, 16), "{}: {roles:?}", fixture.name);
    }
}
