//! Counts and roles under concurrent changes.

use super::*;
use aether_services::group::limits;

/// Number of users that join and leave at once.
const USERS: u128 = 100;

/// Runs a change for each user concurrently, and returns the outcomes in the order of the users.
async fn all_at_once<F>(users: &[Uuid], change: impl Fn(Uuid) -> F) -> Vec<Result<(), ServiceError>>
where
    F: Future<Output = Result<(), ServiceError>> + Send + 'static,
{
    let tasks: Vec<_> = users.iter().map(|user| tokio::spawn(change(*user))).collect();
    let mut outcomes = Vec::new();
    for task in tasks {
        outcomes.push(task.await.expect("no change panics"));
    }
    outcomes
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_right_after_a_hundred_concurrent_joins_and_leaves() {
    for fixture in Fixture::all().await {
        let users = fixture.users(2, USERS).await;
        let owner = fixture.user(1).await;
        let new = NewGroup { max_count: Some(200), ..new("Owls") };
        let group = fixture.create(owner, new).await.expect("it is valid");
        let id = group.id;
        let join = |user| {
            let groups = Arc::clone(&fixture.groups);
            async move { groups.join(id, user).await }
        };
        let leave = |user| {
            let groups = Arc::clone(&fixture.groups);
            async move { groups.leave(id, user).await }
        };
        for outcome in all_at_once(&users, join).await {
            outcome.expect("there is room for all");
        }
        assert_eq!(fixture.edge_count(&group).await, 101, "{}", fixture.name);
        // Half of them leave while the others join again, which changes nothing.
        let (leaving, staying) = users.split_at(50);
        let (left, stayed) = tokio::join!(all_at_once(leaving, leave), all_at_once(staying, join));
        assert!(left.into_iter().chain(stayed).all(|outcome| outcome.is_ok()), "{}", fixture.name);
        assert_eq!(fixture.edge_count(&group).await, 51, "{}", fixture.name);
        assert_eq!(fixture.roles(&group).await.len(), 51);
        // All join and leave at once.
        let (left, joined) = tokio::join!(all_at_once(&users, leave), all_at_once(&users, join));
        assert!(left.into_iter().chain(joined).all(|outcome| outcome.is_ok()), "{}", fixture.name);
        let members = fixture.roles(&group).await.len() as i64;
        assert_eq!(fixture.edge_count(&group).await, members, "{}", fixture.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_joins_do_not_exceed_the_maximum_size() {
    for fixture in Fixture::all().await {
        let users = fixture.users(2, 40).await;
        let owner = fixture.user(1).await;
        let group = fixture.create(owner, NewGroup { max_count: Some(10), ..new("Owls") }).await.expect("valid");
        let id = group.id;
        let outcomes = all_at_once(&users, |user| {
            let groups = Arc::clone(&fixture.groups);
            async move { groups.join(id, user).await }
        });
        let joined = outcomes.await.into_iter().filter(Result::is_ok).count();
        assert_eq!((joined, fixture.edge_count(&group).await), (9, 10), "{}", fixture.name);
        assert_eq!(fixture.roles(&group).await.len(), 10);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_superadmins_who_leave_at_once_do_not_leave_the_group_without_one() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 8).await;
        for round in 0..5 {
            let group = fixture.group(users[0], &format!("Owls {round}")).await;
            fixture.groups.add(None, group.id, users.clone()).await.expect("the server may");
            for _ in 0..2 {
                let promote = RoleChange::Promote;
                fixture.groups.change_roles(None, group.id, promote, users.clone()).await.expect("the server may");
            }
            let id = group.id;
            let outcomes = all_at_once(&users, |user| {
                let groups = Arc::clone(&fixture.groups);
                async move { groups.leave(id, user).await }
            });
            let left = outcomes.await.into_iter().filter(Result::is_ok).count();
            assert_eq!((left, fixture.edge_count(&group).await), (7, 1), "{}", fixture.name);
            let roles: Vec<i64> = fixture.roles(&group).await.into_iter().map(|(_, role)| role).collect();
            assert_eq!(roles, [SUPERADMIN]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_joins_many_groups_at_once_stays_below_the_maximum() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 3).await;
        let mut ids = Vec::new();
        for number in 0..limits::GROUPS_PER_USER_MAX + 8 {
            let owner = users[(number % 2) as usize];
            ids.push(fixture.group(owner, &format!("Owls {number}")).await.id);
        }
        let outcomes = all_at_once(&ids, |group| {
            let (groups, user) = (Arc::clone(&fixture.groups), users[2]);
            async move { groups.join(group, user).await }
        });
        let joined = outcomes.await.into_iter().filter(Result::is_ok).count();
        assert_eq!(joined, limits::GROUPS_PER_USER_MAX as usize, "{}", fixture.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_concurrent_groups_with_one_name_one_is_created() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 12).await;
        let outcomes = all_at_once(&users, |user| {
            let groups = Arc::clone(&fixture.groups);
            async move { groups.create(user, new("Owls")).await.map(|_| ()) }
        });
        let outcomes = outcomes.await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{}", fixture.name);
        for outcome in outcomes.into_iter().filter(Result::is_err) {
            assert_rejected(outcome, GrpcCode::AlreadyExists, "Group name is in use");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_and_answers_of_admins_do_not_block_each_other() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 30).await;
        let group = fixture.create(users[0], closed("Owls")).await.expect("valid");
        fixture.groups.add(None, group.id, users[..5].to_vec()).await.expect("the server may");
        fixture.groups.change_roles(None, group.id, RoleChange::Promote, users[1..5].to_vec()).await.expect("it may");
        let id = group.id;
        // Admins leave, join and add each other while others ask, whose requests notify the admins.
        let changes = all_at_once(&users, |user| {
            let (groups, number) = (Arc::clone(&fixture.groups), user.as_u128());
            async move {
                for _ in 0..3 {
                    match number {
                        2..=5 => {
                            groups.leave(id, user).await?;
                            groups.add(None, id, vec![user]).await?;
                            groups.change_roles(None, id, RoleChange::Promote, vec![user]).await?;
                        }
                        _ => groups.join(id, user).await?,
                    }
                }
                Ok(())
            }
        });
        for outcome in changes.await {
            outcome.unwrap_or_else(|error| panic!("{}: {error}", fixture.name));
        }
        assert_eq!(fixture.edge_count(&group).await, 5, "{}", fixture.name);
    }
}
