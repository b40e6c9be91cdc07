//! System messages in the chat of a group, notifications, and presences of those who are no longer members.

use super::*;
use aether_messages::realtime::envelope::Message;
use aether_services::router::{OpenSocket, OutboxItem, PresenceMeta, Shown, SocketSession, StreamId, mode};
use aether_store::StoreError;

impl Fixture {
    /// Connects a session of a user.
    fn connect(&self, user: Uuid) -> OpenSocket {
        let username = format!("user-{}", user.as_u128()).into();
        let socket = SocketSession { session: Uuid::new_v4(), user, username, node: "test".into() };
        self.router.open(socket).expect("the session is new")
    }

    /// Connects a session of a user, and adds it to the chat of a group.
    fn enter(&self, user: Uuid, group: &Group) -> OpenSocket {
        let open = self.connect(user);
        let session = open.socket.session;
        self.router.track(session, &stream(group), PresenceMeta::default()).expect("the session is connected");
        open
    }

    /// Returns the users in the chat of a group.
    fn present(&self, group: &Group) -> Vec<u128> {
        let listed = self.router.list(&stream(group), Shown::All);
        let mut users: Vec<u128> = listed.iter().map(|presence| presence.socket.user.as_u128()).collect();
        users.sort_unstable();
        users
    }

    /// Returns code and username of the stored messages of a group, and their numbers.
    async fn messages(&self, group: &Group) -> Vec<(i64, i64, String)> {
        let channel = format!("3.{}..", group.id);
        let select = "SELECT sequence, code, username FROM chat_messages WHERE channel_id = ?1 ORDER BY sequence";
        let read = self.store.read(move |transaction| {
            transaction.rows(select, values![&channel], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        });
        read.await.map_err(|error: StoreError| error).expect("messages can be read")
    }

    /// Returns receiver, code and content of the stored notifications.
    async fn notifications(&self) -> Vec<(u128, i64, String)> {
        let select = "SELECT user_id, code, content FROM notifications ORDER BY user_id, number";
        let read = self.store.read(move |transaction| {
            transaction.rows(select, &[], |row| Ok((row.get::<Uuid>(0)?.as_u128(), row.get::<i64>(1)?, row.get(2)?)))
        });
        read.await.map_err(|error: StoreError| error).expect("notifications can be read")
    }
}

fn stream(group: &Group) -> StreamId {
    StreamId { mode: mode::GROUP, subject: group.id, ..StreamId::default() }
}

/// Returns the codes of the chat messages and notifications that a session has received.
fn received(socket: &OpenSocket) -> Vec<String> {
    let mut codes = Vec::new();
    while let Some(item) = socket.outbox.take() {
        let OutboxItem::Message(message) = item else { continue };
        match message.envelope().message.as_ref().expect("an envelope has a message") {
            Message::ChannelMessage(message) => {
                codes.push(format!("{} {}", message.code.unwrap_or_default(), message.username));
            }
            Message::Notifications(list) => {
                codes.extend(list.notifications.iter().map(|one| format!("{} {}", one.code, one.subject)));
            }
            _ => {}
        }
    }
    codes
}

#[tokio::test]
async fn every_change_of_members_is_a_message_of_the_chat() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 4).await;
        let group = fixture.group(users[0], "Owls").await;
        let listener = fixture.enter(users[0], &group);
        fixture.groups.join(group.id, users[1]).await.expect("it is open");
        fixture.groups.join(group.id, users[1]).await.expect("nothing changes");
        fixture.groups.add(Some(users[0]), group.id, vec![users[2], users[3]]).await.expect("it may");
        fixture.change(users[0], &group, RoleChange::Promote, users[1]).await.expect("it may");
        fixture.change(users[0], &group, RoleChange::Demote, users[1]).await.expect("it may");
        fixture.change(users[0], &group, RoleChange::Demote, users[1]).await.expect("nothing changes");
        fixture.groups.leave(group.id, users[1]).await.expect("it may");
        fixture.change(users[0], &group, RoleChange::Kick, users[2]).await.expect("it may");
        fixture.change(users[0], &group, RoleChange::Ban, users[3]).await.expect("it may");
        fixture.change(users[0], &group, RoleChange::Kick, users[3]).await.expect("a lifted ban is no message");
        let expected = [
            (3, "user-2"),
            (4, "user-3"),
            (4, "user-4"),
            (7, "user-2"),
            (9, "user-2"),
            (5, "user-2"),
            (6, "user-3"),
            (8, "user-4"),
        ];
        let stored = (1..).zip(expected).map(|(number, (code, name))| (number, code, name.to_owned()));
        assert_eq!(fixture.messages(&group).await, stored.collect::<Vec<_>>(), "{}", fixture.name);
        let delivered: Vec<String> = expected.iter().map(|(code, name)| format!("{code} {name}")).collect();
        assert_eq!(received(&listener), delivered, "{}", fixture.name);
    }
}

#[tokio::test]
async fn added_users_and_admins_are_notified() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 5).await;
        let group = fixture.create(users[0], closed("Owls")).await.expect("valid");
        fixture.groups.add(None, group.id, vec![users[1], users[2]]).await.expect("the server may");
        fixture.change(users[0], &group, RoleChange::Promote, users[1]).await.expect("it may");
        let (superadmin, admin, member, asking) = (
            fixture.connect(users[0]),
            fixture.connect(users[1]),
            fixture.connect(users[2]),
            fixture.connect(users[3]),
        );
        fixture.groups.join(group.id, users[3]).await.expect("a request");
        fixture.groups.join(group.id, users[3]).await.expect("nothing changes");
        let subject = "-5 user-4 wants to join your group Owls";
        assert_eq!((received(&superadmin), received(&admin)), (vec![subject.to_owned()], vec![subject.to_owned()]));
        assert_eq!(received(&member), Vec::<String>::new(), "{}", fixture.name);
        fixture.groups.add(Some(users[1]), group.id, vec![users[3]]).await.expect("accepted");
        assert_eq!(received(&asking), ["-4 You've been added to group Owls"]);
        let content = format!(r#"{{"group_id":"{}","name":"Owls"}}"#, group.id);
        let request = format!(r#"{{"group_id":"{}","name":"Owls","username":"user-4"}}"#, group.id);
        let expected = [
            (1, -5, request.clone()),
            (2, -4, content.clone()),
            (2, -5, request),
            (3, -4, content.clone()),
            (4, -4, content),
        ];
        assert_eq!(fixture.notifications().await, expected, "{}", fixture.name);
    }
}

#[tokio::test]
async fn a_user_who_asks_again_and_again_notifies_an_admin_once() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 3).await;
        let group = fixture.create(users[0], closed("Owls")).await.expect("valid");
        for _ in 0..3 {
            for user in &users[1..] {
                fixture.groups.join(group.id, *user).await.expect("a request");
                fixture.groups.leave(group.id, *user).await.expect("taken back");
            }
        }
        assert_eq!(fixture.notifications().await.len(), 2, "{}: one of each user", fixture.name);
        let delete = fixture.store.write(|transaction| transaction.execute("DELETE FROM notifications", &[]));
        delete.await.map_err(|error: StoreError| error).expect("rows can be deleted");
        fixture.groups.join(group.id, users[1]).await.expect("a request");
        assert_eq!(fixture.notifications().await.len(), 1, "{}: the admin had deleted it", fixture.name);
    }
}

#[tokio::test]
async fn a_long_chat_is_deleted_with_the_group_and_with_it_alone() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 2).await;
        let (group, other) = (fixture.group(users[0], "Owls").await, fixture.group(users[0], "Bats").await);
        fixture.groups.join(other.id, users[1]).await.expect("it is open");
        let (channel, sender) = (format!("3.{}..", group.id), users[0]);
        let fill = fixture.store.write(move |transaction| {
            let fill = "WITH RECURSIVE numbers (number) AS (
                    SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 2500)
                INSERT INTO chat_messages (channel_id, sequence, id, code, sender_id, username, content, created_at,
                    updated_at) SELECT ?1, number, ?2, 0, ?2, 'someone', '{}', 1, 1 FROM numbers";
            transaction.execute(fill, values![&channel, sender])
        });
        fill.await.map_err(|error: StoreError| error).expect("the rows fit");
        let denied = fixture.groups.delete(Some(users[1]), group.id).await;
        assert_rejected(denied, GrpcCode::PermissionDenied, "Only superadmins");
        assert_eq!(fixture.messages(&group).await.len(), 2_500, "{}", fixture.name);
        fixture.groups.delete(Some(users[0]), group.id).await.expect("it may");
        assert_eq!(fixture.messages(&group).await, [], "{}", fixture.name);
        assert_eq!(fixture.messages(&other).await.len(), 1, "{}", fixture.name);
    }
}

#[tokio::test]
async fn presences_end_with_the_membership() {
    let fixture = Fixture::new().await;
    let users = fixture.users(1, 5).await;
    let group = fixture.group(users[0], "Owls").await;
    fixture.groups.add(None, group.id, users.clone()).await.expect("the server may");
    let sockets: Vec<OpenSocket> = users.iter().map(|user| fixture.enter(*user, &group)).collect();
    let second = fixture.enter(users[1], &group);
    assert_eq!(fixture.present(&group), [1, 2, 2, 3, 4, 5]);
    fixture.groups.leave(group.id, users[1]).await.expect("it may");
    fixture.change(users[0], &group, RoleChange::Kick, users[2]).await.expect("it may");
    fixture.change(users[0], &group, RoleChange::Ban, users[3]).await.expect("it may");
    fixture.change(users[0], &group, RoleChange::Promote, users[4]).await.expect("it may");
    assert_eq!(fixture.present(&group), [1, 5]);
    assert_eq!(received(&sockets[2]).last().map(String::as_str), Some("6 user-3"), "who is kicked learns it");
    fixture.groups.delete(Some(users[0]), group.id).await.expect("it may");
    assert_eq!(fixture.present(&group), Vec::<u128>::new());
    assert_eq!(fixture.messages(&group).await, [], "the chat is deleted with the group");
    drop((sockets, second));
}
