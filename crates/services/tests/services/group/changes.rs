//! Changes of groups: fields, limits, and every reason for a rejection.

use super::*;
use aether_services::group::{GroupUpdate, limits};
use aether_store::StoreError;

#[tokio::test]
async fn a_group_has_the_fields_that_it_was_created_with() {
    for fixture in Fixture::all().await {
        let user = fixture.user(1).await;
        let full = NewGroup {
            name: "Night Owls".to_owned(),
            description: "We play\nat night.".to_owned(),
            avatar_url: "https://example.com/owl.png".to_owned(),
            language: "en".to_owned(),
            metadata: Some(r#"{"color":"blue"}"#.to_owned()),
            is_open: true,
            max_count: Some(7),
            tags: vec!["PvP".to_owned(), "casual".to_owned(), "pvp".to_owned()],
        };
        let group = fixture.create(user, full).await.expect("it is valid");
        assert_eq!((group.creator, group.name.as_str(), group.edge_count, group.max_count), (user, "Night Owls", 1, 7));
        assert_eq!((group.description.as_str(), group.language.as_str()), ("We play\nat night.", "en"));
        assert_eq!((group.metadata.as_str(), group.is_open), (r#"{"color":"blue"}"#, true));
        assert_eq!(group.tags, ["casual", "pvp"], "{}", fixture.name);
        assert_eq!((group.created_at_ms, group.updated_at_ms), (START_MS + 1, START_MS + 1));
        assert_eq!(fixture.find(&group).await.as_ref(), Some(&group));
        assert_eq!(fixture.roles(&group).await, [(1, SUPERADMIN)]);
        let plain = fixture.group(user, "Plain").await;
        assert_eq!((plain.max_count, plain.metadata.as_str()), (limits::MEMBERS_DEFAULT.into(), "{}"));
    }
}

#[tokio::test]
async fn an_update_changes_only_what_it_names() {
    for fixture in Fixture::all().await {
        let user = fixture.user(1).await;
        let group = fixture.create(user, NewGroup { tags: vec!["a".to_owned()], ..new("Owls") }).await.expect("valid");
        let update = |update: GroupUpdate| fixture.groups.update(Some(user), group.id, update);
        update(GroupUpdate::default()).await.expect("nothing changes");
        assert_eq!(fixture.find(&group).await.as_ref(), Some(&group));
        update(GroupUpdate { name: Some("OWLS".to_owned()), ..GroupUpdate::default() })
            .await
            .expect("its own name does not collide");
        update(GroupUpdate { is_open: Some(false), ..GroupUpdate::default() }).await.expect("valid");
        let tags = Some(vec!["B".to_owned(), "c".to_owned()]);
        update(GroupUpdate { tags, ..GroupUpdate::default() }).await.expect("valid");
        update(GroupUpdate { description: Some("x".to_owned()), ..GroupUpdate::default() }).await.expect("valid");
        let found = fixture.find(&group).await.expect("it exists");
        let tags = vec!["b".to_owned(), "c".to_owned()];
        let (name, description) = ("OWLS".to_owned(), "x".to_owned());
        assert_eq!(found, Group { name, description, is_open: false, tags, ..group.clone() }, "{}", fixture.name);
        update(GroupUpdate { tags: Some(Vec::new()), ..GroupUpdate::default() }).await.expect("valid");
        assert_eq!(fixture.find(&group).await.expect("it exists").tags, Vec::<String>::new());
    }
}

#[tokio::test]
async fn metadata_and_the_maximum_size_are_for_server_code() {
    let fixture = Fixture::new().await;
    let users = fixture.users(1, 3).await;
    let group = fixture.group(users[0], "Owls").await;
    let metadata = GroupUpdate { metadata: Some(r#"{"a":1}"#.to_owned()), ..GroupUpdate::default() };
    let size = |count| GroupUpdate { max_count: Some(count), ..GroupUpdate::default() };
    for update in [metadata.clone(), size(5)] {
        let outcome = fixture.groups.update(Some(users[0]), group.id, update).await;
        assert_rejected(outcome, GrpcCode::PermissionDenied, "Only server code");
    }
    fixture.groups.update(None, group.id, metadata).await.expect("the server may");
    fixture.groups.add(None, group.id, users.clone()).await.expect("the server may");
    let outcome = fixture.groups.update(None, group.id, size(2)).await;
    assert_rejected(outcome, GrpcCode::FailedPrecondition, "more members than this maximum");
    fixture.groups.update(None, group.id, size(3)).await.expect("it has three members");
    let found = fixture.find(&group).await.expect("it exists");
    assert_eq!((found.metadata.as_str(), found.max_count, found.edge_count), (r#"{"a":1}"#, 3, 3));
}

#[tokio::test]
async fn names_are_unique_and_do_not_look_alike() {
    for fixture in Fixture::all().await {
        let user = fixture.user(1).await;
        let other = fixture.group(user, "Bats").await;
        let owls = fixture.group(user, "Owls").await;
        for name in ["Owls", "owls", "OWLS", "0wls", "Оwls"] {
            assert_rejected(fixture.create(user, new(name)).await, GrpcCode::AlreadyExists, "Group name is in use");
            let update = GroupUpdate { name: Some(name.to_owned()), ..GroupUpdate::default() };
            let outcome = fixture.groups.update(Some(user), other.id, update).await;
            assert_rejected(outcome, GrpcCode::AlreadyExists, "Group name is in use");
        }
        fixture.groups.delete(Some(user), owls.id).await.expect("its superadmin may");
        fixture.group(user, "owls").await;
        assert_eq!(fixture.find(&other).await, Some(other), "{}", fixture.name);
    }
}

#[tokio::test]
async fn invalid_fields_are_rejected() {
    let fixture = Fixture::new().await;
    let user = fixture.user(1).await;
    let group = fixture.group(user, "Owls").await;
    let text = |length: usize| "x".repeat(length);
    let tags = |count: usize| (0..count).map(|number| format!("tag{number}")).collect::<Vec<_>>();
    let base = || new("Bats");
    let cases: Vec<(NewGroup, &str)> = vec![
        (new(""), "Group name is required"),
        (new(&text(limits::NAME_BYTES_MAX + 1)), "Group name must be 1 to 128 bytes"),
        (new(" Bats"), "must not begin or end with a space"),
        (new("Ba\nts"), "control characters"),
        (new("Ba\u{202e}ts"), "U+202E"),
        (NewGroup { description: text(limits::DESCRIPTION_BYTES_MAX + 1), ..base() }, "at most 1024 bytes"),
        (NewGroup { description: "a\0b".to_owned(), ..base() }, "control characters"),
        (NewGroup { avatar_url: text(limits::AVATAR_URL_BYTES_MAX + 1), ..base() }, "at most 512 bytes"),
        (NewGroup { language: text(limits::LANGUAGE_BYTES_MAX + 1), ..base() }, "at most 18 bytes"),
        (NewGroup { metadata: Some("[]".to_owned()), ..base() }, "JSON object"),
        (NewGroup { metadata: Some(format!("{{\"a\":\"{}\"}}", text(limits::METADATA_BYTES_MAX))), ..base() }, "16384"),
        (NewGroup { max_count: Some(0), ..base() }, "from 1 to 10000"),
        (NewGroup { max_count: Some(limits::MEMBERS_MAX + 1), ..base() }, "from 1 to 10000"),
        (NewGroup { tags: tags(limits::TAGS_MAX + 1), ..base() }, "at most 16 tags"),
        (NewGroup { tags: vec![String::new()], ..base() }, "A tag is required"),
        (NewGroup { tags: vec![text(limits::TAG_BYTES_MAX + 1)], ..base() }, "1 to 32 bytes"),
        (NewGroup { tags: vec!["a ".to_owned()], ..base() }, "begin or end with a space"),
    ];
    for (case, part) in cases {
        let update = GroupUpdate {
            name: Some(case.name.clone()),
            description: Some(case.description.clone()),
            avatar_url: Some(case.avatar_url.clone()),
            language: Some(case.language.clone()),
            is_open: None,
            tags: Some(case.tags.clone()),
            metadata: case.metadata.clone(),
            max_count: case.max_count,
            creator: None,
        };
        assert_rejected(fixture.create(user, case).await, GrpcCode::InvalidArgument, part);
        assert_rejected(fixture.groups.update(None, group.id, update).await, GrpcCode::InvalidArgument, part);
    }
    assert_eq!(fixture.find(&group).await, Some(group));
    let most = NewGroup {
        name: text(limits::NAME_BYTES_MAX),
        description: text(limits::DESCRIPTION_BYTES_MAX),
        tags: tags(limits::TAGS_MAX),
        max_count: Some(limits::MEMBERS_MAX),
        ..base()
    };
    fixture.create(user, most).await.expect("the limits themselves are allowed");
}

#[tokio::test]
async fn only_admins_change_a_group_and_only_superadmins_delete_it() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 4).await;
        let [superadmin, admin, member, stranger] = users[..] else { unreachable!() };
        let group = fixture.group(superadmin, "Owls").await;
        fixture.groups.add(Some(superadmin), group.id, vec![admin, member]).await.expect("it may");
        fixture.change(superadmin, &group, RoleChange::Promote, admin).await.expect("it may");
        for user in [member, stranger] {
            let update = fixture.groups.update(Some(user), group.id, GroupUpdate::default()).await;
            assert_rejected(update, GrpcCode::PermissionDenied, "Only admins and superadmins");
            let add = fixture.groups.add(Some(user), group.id, vec![stranger]).await;
            assert_rejected(add, GrpcCode::PermissionDenied, "Only admins and superadmins");
        }
        fixture.groups.update(Some(admin), group.id, GroupUpdate::default()).await.expect("an admin may");
        for user in [admin, member, stranger] {
            let delete = fixture.groups.delete(Some(user), group.id).await;
            assert_rejected(delete, GrpcCode::PermissionDenied, "Only superadmins");
        }
        fixture.groups.delete(Some(superadmin), group.id).await.expect("a superadmin may");
        let gone = fixture.groups.delete(Some(superadmin), group.id).await;
        assert_rejected(gone, GrpcCode::NotFound, "Group not found");
        assert_eq!(fixture.roles(&group).await, [], "{}", fixture.name);
    }
}

#[tokio::test]
async fn the_last_superadmin_stays() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 3).await;
        let group = fixture.group(users[0], "Owls").await;
        let alone = fixture.groups.leave(group.id, users[0]).await;
        let text = "Cannot leave group when you are the last superadmin.";
        assert_rejected(alone, GrpcCode::FailedPrecondition, text);
        fixture.groups.add(None, group.id, users.clone()).await.expect("the server may");
        assert_rejected(fixture.groups.leave(group.id, users[0]).await, GrpcCode::FailedPrecondition, text);
        let demote = fixture.change(users[0], &group, RoleChange::Demote, users[0]).await;
        assert_rejected(demote, GrpcCode::FailedPrecondition, "The last superadmin");
        for change in [RoleChange::Kick, RoleChange::Ban, RoleChange::Demote] {
            let by_server = fixture.groups.change_roles(None, group.id, change, vec![users[0]]).await;
            assert_rejected(by_server, GrpcCode::FailedPrecondition, "The last superadmin");
        }
        for _ in 0..2 {
            fixture.change(users[0], &group, RoleChange::Promote, users[1]).await.expect("it may");
        }
        fixture.groups.leave(group.id, users[0]).await.expect("there is another superadmin");
        assert_eq!(fixture.roles(&group).await, [(2, SUPERADMIN), (3, MEMBER)], "{}", fixture.name);
        assert_eq!(fixture.edge_count(&group).await, 2);
    }
}

#[tokio::test]
async fn a_banned_user_stays_out_until_an_admin_kicks_the_ban_away() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 3).await;
        let group = fixture.group(users[0], "Owls").await;
        fixture.groups.join(group.id, users[1]).await.expect("it is open");
        for user in &users[1..] {
            fixture.change(users[0], &group, RoleChange::Ban, *user).await.expect("members and others can be banned");
            assert_rejected(
                fixture.groups.join(group.id, *user).await,
                GrpcCode::PermissionDenied,
                "You are banned from this group",
            );
            let add = fixture.groups.add(Some(users[0]), group.id, vec![*user]).await;
            assert_rejected(add, GrpcCode::FailedPrecondition, "is banned from the group");
            fixture.groups.leave(group.id, *user).await.expect("it changes nothing");
        }
        assert_eq!(fixture.roles(&group).await, [(1, SUPERADMIN), (2, BANNED), (3, BANNED)]);
        assert_eq!(fixture.edge_count(&group).await, 1, "{}", fixture.name);
        fixture.change(users[0], &group, RoleChange::Kick, users[1]).await.expect("it lifts the ban");
        fixture.groups.join(group.id, users[1]).await.expect("the ban is lifted");
        assert_eq!(fixture.edge_count(&group).await, 2);
    }
}

#[tokio::test]
async fn a_join_request_is_accepted_refused_or_taken_back() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 5).await;
        let group = fixture.create(users[0], closed("Owls")).await.expect("valid");
        for user in &users[1..] {
            fixture.groups.join(group.id, *user).await.expect("a request");
            fixture.groups.join(group.id, *user).await.expect("a second request changes nothing");
        }
        assert_eq!(fixture.edge_count(&group).await, 1, "requests do not count");
        fixture.groups.add(Some(users[0]), group.id, vec![users[1]]).await.expect("accepted");
        fixture.change(users[0], &group, RoleChange::Kick, users[2]).await.expect("refused");
        fixture.groups.leave(group.id, users[3]).await.expect("taken back");
        let promote = fixture.change(users[0], &group, RoleChange::Promote, users[4]).await;
        assert_rejected(promote, GrpcCode::FailedPrecondition, "not a member of the group");
        let expected = [(1, SUPERADMIN), (2, MEMBER), (5, JOIN_REQUEST)];
        assert_eq!(fixture.roles(&group).await, expected, "{}", fixture.name);
        assert_eq!(fixture.edge_count(&group).await, 2);
        let open = GroupUpdate { is_open: Some(true), ..GroupUpdate::default() };
        fixture.groups.update(Some(users[0]), group.id, open).await.expect("an admin may");
        fixture.groups.join(group.id, users[4]).await.expect("the group is open now");
        assert_eq!(fixture.roles(&group).await, [(1, SUPERADMIN), (2, MEMBER), (5, MEMBER)]);
    }
}

#[tokio::test]
async fn changes_of_several_users_are_all_or_none() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 4).await;
        let group = fixture.create(users[0], NewGroup { max_count: Some(3), ..new("Owls") }).await.expect("valid");
        let many = fixture.groups.add(Some(users[0]), group.id, users.clone()).await;
        assert_rejected(many, GrpcCode::FailedPrecondition, "Group is full");
        let unknown = fixture.groups.add(Some(users[0]), group.id, vec![users[1], Uuid::from_u128(99)]).await;
        assert_rejected(unknown, GrpcCode::NotFound, "User not found");
        assert_eq!(fixture.roles(&group).await, [(1, SUPERADMIN)], "{}", fixture.name);
        let too_many = (0..=limits::USERS_PER_CALL_MAX as u128).map(Uuid::from_u128).collect();
        let too_many = fixture.groups.add(Some(users[0]), group.id, too_many).await;
        assert_rejected(too_many, GrpcCode::InvalidArgument, "At most 100 users");
        let twice = vec![users[1], users[2], users[1]];
        fixture.groups.add(Some(users[0]), group.id, twice).await.expect("the same user counts once");
        assert_rejected(fixture.groups.join(group.id, users[3]).await, GrpcCode::FailedPrecondition, "Group is full");
        assert_eq!(fixture.edge_count(&group).await, 3);
    }
}

#[tokio::test]
async fn a_user_who_blocks_an_admin_is_added_only_after_a_request() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 2).await;
        let group = fixture.create(users[0], closed("Owls")).await.expect("valid");
        let (admin, user) = (users[0], users[1]);
        let block = fixture.store.write(move |transaction| {
            let insert = "INSERT INTO friend_edges (user_id, other_id, state, updated_at) VALUES (?1, ?2, 3, 1)";
            transaction.execute(insert, values![user, admin])
        });
        block.await.map_err(|error: StoreError| error).expect("the row fits");
        let add = fixture.groups.add(Some(admin), group.id, vec![user]).await;
        assert_rejected(add, GrpcCode::PermissionDenied, "You cannot add user-2: one of you blocks the other");
        assert_eq!(fixture.roles(&group).await, [(1, SUPERADMIN)], "{}", fixture.name);
        fixture.groups.join(group.id, user).await.expect("a request");
        fixture.groups.add(Some(admin), group.id, vec![user]).await.expect("the user has asked");
        assert_eq!(fixture.edge_count(&group).await, 2);
    }
}

#[tokio::test]
async fn unknown_groups_and_users_are_not_found() {
    for fixture in Fixture::all().await {
        let user = fixture.user(1).await;
        let (unknown, group) = (Uuid::from_u128(77), fixture.group(user, "Owls").await);
        assert_rejected(fixture.groups.join(unknown, user).await, GrpcCode::NotFound, "Group not found");
        assert_rejected(fixture.groups.leave(unknown, user).await, GrpcCode::NotFound, "Group not found");
        assert_rejected(fixture.groups.join(group.id, unknown).await, GrpcCode::NotFound, "User not found");
        assert_rejected(fixture.create(unknown, new("Bats")).await, GrpcCode::NotFound, "User not found");
        let update = fixture.groups.update(None, unknown, GroupUpdate::default()).await;
        assert_rejected(update, GrpcCode::NotFound, "Group not found");
        let kick = fixture.groups.change_roles(None, unknown, RoleChange::Kick, vec![user]).await;
        assert_rejected(kick, GrpcCode::NotFound, "Group not found");
        let members = fixture.groups.members(None, unknown, None, None, "").await;
        assert_rejected(members, GrpcCode::NotFound, "Group not found");
        assert_eq!(fixture.groups.by_ids(vec![unknown, group.id]).await, Ok(vec![group]), "{}", fixture.name);
    }
}

/// Fills a group or the groups of a user directly.
async fn fill(fixture: &Fixture, sql: &'static str, id: Uuid, count: u32) {
    let fill = fixture.store.write(move |transaction| {
        for statement in sql.split(';') {
            let has_count = statement.contains("?2");
            transaction.execute(statement, &values![id, count][..if has_count { 2 } else { 1 }])?;
        }
        Ok::<_, StoreError>(())
    });
    fill.await.expect("the rows fit");
}

#[tokio::test]
async fn a_user_has_a_maximum_of_groups() {
    let fixture = Fixture::new().await;
    let users = fixture.users(1, 2).await;
    let open = fixture.group(users[0], "Open").await;
    let shut = fixture.create(users[0], closed("Closed")).await.expect("valid");
    let many =
        "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ?2)
        INSERT INTO groups (id, creator, name, name_key, name_skeleton, name_folded, open, edge_count, max_count,
            created_at, updated_at)
        SELECT CAST(printf('%016d', number) AS BLOB), ?1, 'g', CAST('g' AS BLOB), 's' || number, 'f' || number, TRUE, 1,
            100, 1, 1 FROM numbers;
        INSERT INTO group_members (group_key, user_id, role, since) SELECT id, ?1, 2, 1 FROM groups WHERE name = 'g'";
    fill(&fixture, many, users[1], limits::GROUPS_PER_USER_MAX - 1).await;
    fixture.groups.join(open.id, users[1]).await.expect("the last one that is allowed");
    let text = "at most 256 groups";
    assert_rejected(fixture.groups.join(shut.id, users[1]).await, GrpcCode::ResourceExhausted, text);
    let add = fixture.groups.add(Some(users[0]), shut.id, vec![users[1]]).await;
    assert_rejected(add, GrpcCode::ResourceExhausted, text);
    assert_rejected(fixture.create(users[1], new("Mine")).await, GrpcCode::ResourceExhausted, text);
    fixture.change(users[0], &shut, RoleChange::Ban, users[1]).await.expect("a ban does not count");
    fixture.groups.leave(open.id, users[1]).await.expect("it may");
    fixture.create(users[1], new("Mine")).await.expect("there is room again");
}

#[tokio::test]
async fn a_group_has_a_maximum_of_join_requests_and_bans() {
    let fixture = Fixture::new().await;
    let users = fixture.users(1, 3).await;
    let group = fixture.create(users[0], closed("Owls")).await.expect("valid");
    let others =
        "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ?2)
        INSERT INTO users (id, username, created_at, updated_at)
        SELECT CAST(printf('%016d', number) AS BLOB), 'other-' || number, 1, 1 FROM numbers WHERE ?1 = ?1;
        INSERT INTO group_members (group_key, user_id, role, since)
        SELECT ?1, id, 3, 1 FROM users WHERE username LIKE 'other-%'";
    fill(&fixture, others, group.id, limits::JOIN_REQUESTS_MAX - 1).await;
    fixture.groups.join(group.id, users[1]).await.expect("the last one that is allowed");
    let full = fixture.groups.join(group.id, users[2]).await;
    assert_rejected(full, GrpcCode::ResourceExhausted, "1000 join requests");
    fill(&fixture, "UPDATE group_members SET role = 4 WHERE group_key = ?1 AND role = 3", group.id, 0).await;
    let full = fixture.change(users[0], &group, RoleChange::Ban, users[2]).await;
    assert_rejected(full, GrpcCode::ResourceExhausted, "1000 bans");
}

#[tokio::test]
async fn server_code_reads_a_maximum_of_groups_at_once() {
    let fixture = Fixture::new().await;
    let ids = (0..=limits::GROUPS_PER_CALL_MAX as u128).map(Uuid::from_u128).collect();
    assert_rejected(fixture.groups.by_ids(ids).await, GrpcCode::InvalidArgument, "At most 100 groups");
    assert_eq!(fixture.groups.by_ids(Vec::new()).await, Ok(Vec::new()));
}

#[tokio::test]
async fn server_code_chooses_and_changes_the_creator() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 2).await;
        let group = fixture.groups.create_for(users[0], Uuid::nil(), new("Owls")).await.expect("valid");
        assert!(group.creator.is_nil(), "{}", fixture.name);
        assert_eq!(fixture.roles(&group).await, [(1, SUPERADMIN)]);
        let update = GroupUpdate { creator: Some(users[1]), ..GroupUpdate::default() };
        let denied = fixture.groups.update(Some(users[0]), group.id, update.clone()).await;
        assert_rejected(denied, GrpcCode::PermissionDenied, "the creator");
        fixture.groups.update(None, group.id, update).await.expect("server code may");
        let found = fixture.find(&group).await.expect("the group exists");
        assert_eq!((found.creator, found.name.as_str()), (users[1], "Owls"), "{}", fixture.name);
    }
}
