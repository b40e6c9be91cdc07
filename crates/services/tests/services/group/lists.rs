//! Members of a group and groups of a user, as others see them.

use super::*;
use aether_services::group::limits;

struct Roles {
    group: Group,
    users: Vec<Uuid>,
}

/// A closed group with a user of each role, by the number of the user: 1 superadmin, 2 admin, 3 member, 4 join request,
/// 5 banned; 6 is a stranger.
async fn with_all_roles(fixture: &Fixture, name: &str, first: u128) -> Roles {
    let users = fixture.users(first, 6).await;
    let group = fixture.create(users[0], closed(name)).await.expect("valid");
    fixture.groups.add(None, group.id, users[1..3].to_vec()).await.expect("the server may");
    fixture.change(users[0], &group, RoleChange::Promote, users[1]).await.expect("it may");
    fixture.groups.join(group.id, users[3]).await.expect("a request");
    fixture.change(users[0], &group, RoleChange::Ban, users[4]).await.expect("it may");
    Roles { group, users }
}

async fn shown(fixture: &Fixture, viewer: Option<Uuid>, group: &Group, role: Option<GroupRole>) -> Vec<(u128, i64)> {
    let page = fixture.groups.members(viewer, group.id, role, None, "").await.expect("the group exists");
    assert_eq!(page.cursor, "");
    page.members.into_iter().map(|(user, role)| (user.as_u128(), role.number())).collect()
}

async fn groups_of(fixture: &Fixture, viewer: Option<Uuid>, user: Uuid, role: Option<GroupRole>) -> Vec<(String, i64)> {
    let page = fixture.groups.memberships(viewer, user, role, None, "").await.expect("it is valid");
    page.memberships.into_iter().map(|one| (one.group.name, one.role.number())).collect()
}

#[tokio::test]
async fn join_requests_and_bans_are_shown_to_admins_and_the_server_only() {
    for fixture in Fixture::all().await {
        let Roles { group, users } = with_all_roles(&fixture, "Owls", 1).await;
        let members = vec![(1, SUPERADMIN), (2, ADMIN), (3, MEMBER)];
        let with_requests = [members.clone(), vec![(4, JOIN_REQUEST)]].concat();
        for viewer in [None, Some(users[0]), Some(users[1])] {
            assert_eq!(shown(&fixture, viewer, &group, None).await, with_requests, "{}", fixture.name);
            let requests = shown(&fixture, viewer, &group, Some(GroupRole::JoinRequest)).await;
            assert_eq!(requests, [(4, JOIN_REQUEST)]);
            assert_eq!(shown(&fixture, viewer, &group, Some(GroupRole::Banned)).await, [(5, BANNED)]);
        }
        for viewer in &users[2..] {
            assert_eq!(shown(&fixture, Some(*viewer), &group, None).await, members, "{}", fixture.name);
            assert_eq!(shown(&fixture, Some(*viewer), &group, Some(GroupRole::Admin)).await, [(2, ADMIN)]);
            for hidden in [GroupRole::JoinRequest, GroupRole::Banned] {
                assert_eq!(shown(&fixture, Some(*viewer), &group, Some(hidden)).await, []);
            }
        }
    }
}

#[tokio::test]
async fn a_user_sees_their_own_requests_and_bans_and_others_do_not() {
    for fixture in Fixture::all().await {
        let Roles { users, .. } = with_all_roles(&fixture, "Owls", 1).await;
        let owls = |role: i64| vec![("Owls".to_owned(), role)];
        for (user, role) in users.iter().zip([SUPERADMIN, ADMIN, MEMBER]) {
            assert_eq!(groups_of(&fixture, Some(users[5]), *user, None).await, owls(role), "members are public");
        }
        let (asking, banned) = (users[3], users[4]);
        for (user, role) in [(asking, GroupRole::JoinRequest), (banned, GroupRole::Banned)] {
            for viewer in [None, Some(user)] {
                let own = groups_of(&fixture, viewer, user, Some(role)).await;
                assert_eq!(own, owls(role.number()), "{}", fixture.name);
            }
            for viewer in [users[0], users[5]] {
                assert_eq!(groups_of(&fixture, Some(viewer), user, None).await, []);
                assert_eq!(groups_of(&fixture, Some(viewer), user, Some(role)).await, []);
            }
        }
        assert_eq!(groups_of(&fixture, Some(asking), asking, None).await, owls(JOIN_REQUEST));
        assert_eq!(groups_of(&fixture, Some(banned), banned, None).await, [], "bans are listed if they are asked for");
    }
}

#[tokio::test]
async fn lists_of_members_continue_at_the_cursor() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 23).await;
        let group = fixture.group(users[0], "Owls").await;
        for user in users[1..].iter().rev() {
            fixture.clock.advance_ms(i64::from(user.as_u128() % 3 == 0));
            fixture.groups.join(group.id, *user).await.expect("it is open");
        }
        let all = fixture.groups.members(None, group.id, None, Some(100), "").await.expect("valid");
        assert_eq!((all.members.len(), all.cursor.as_str()), (23, ""));
        for limit in [1, 7, 22, 23] {
            let (mut found, mut cursor) = (Vec::new(), String::new());
            loop {
                let page = fixture.groups.members(None, group.id, None, Some(limit), &cursor).await.expect("valid");
                found.extend(page.members);
                cursor = page.cursor;
                if cursor.is_empty() {
                    break;
                }
            }
            assert_eq!(found, all.members, "{} {limit}", fixture.name);
        }
    }
}

#[tokio::test]
async fn lists_of_groups_of_a_user_continue_at_the_cursor() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 2).await;
        for number in 0..12 {
            let group = fixture.group(users[number % 2], &format!("Owls {number}")).await;
            fixture.groups.join(group.id, users[0]).await.expect("it is open");
        }
        let all = groups_of(&fixture, None, users[0], None).await;
        let roles: Vec<i64> = all.iter().map(|(_, role)| *role).collect();
        assert_eq!(roles, [[SUPERADMIN; 6], [MEMBER; 6]].concat(), "by role");
        let (mut found, mut cursor) = (Vec::new(), String::new());
        for _ in 0..3 {
            let page = fixture.groups.memberships(None, users[0], None, Some(5), &cursor).await.expect("valid");
            found.extend(page.memberships.into_iter().map(|one| (one.group.name, one.role.number())));
            cursor = page.cursor;
        }
        assert_eq!((found, cursor.as_str()), (all, ""), "{}", fixture.name);
    }
}

#[tokio::test]
async fn limits_and_cursors_of_lists_are_checked() {
    let fixture = Fixture::new().await;
    let user = fixture.user(1).await;
    let group = fixture.group(user, "Owls").await;
    for limit in [-1, 0, limits::LISTED_MAX as i64 + 1] {
        let members = fixture.groups.members(None, group.id, None, Some(limit), "").await;
        assert_rejected(members, GrpcCode::InvalidArgument, "Limit must be from 1 to 100");
        let memberships = fixture.groups.memberships(None, user, None, Some(limit), "").await;
        assert_rejected(memberships, GrpcCode::InvalidArgument, "Limit must be from 1 to 100");
    }
    for cursor in ["x", "W10", "e30"] {
        let members = fixture.groups.members(None, group.id, None, None, cursor).await;
        assert_rejected(members, GrpcCode::InvalidArgument, "Cursor is invalid");
        let memberships = fixture.groups.memberships(None, user, None, None, cursor).await;
        assert_rejected(memberships, GrpcCode::InvalidArgument, "Cursor is invalid");
    }
}
