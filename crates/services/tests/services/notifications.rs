//! Notifications: live, stored, listed by cursor, pushed to absent users.

use crate::fixture::{Fixture, START_MS, error_of, fixtures};
use aether_messages::realtime::envelope::Message;
use aether_metrics::Registry;
use aether_services::notification::{
    CHANGED_MAX, CONTENT_BYTES_MAX, DELETED_MAX, LISTED_MAX, NewNotification, NotificationToAll, NotificationUpdate,
    Notifications, PER_MESSAGE_MAX, SENT_MAX, STORED_MAX, SUBJECT_BYTES_MAX, TOPIC, USERS_PER_PAGE,
    WAITING_PER_USER_MAX, code,
};
use aether_services::router::{OpenSocket, Router, SocketSession};
use aether_services::{GrpcCode, api};
use aether_store::{StoreError, Transaction, outbox, values};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

/// Notifications of a fixture, without and with a webhook.
struct Sent {
    fixture: Fixture,
    router: Arc<Router>,
    notifications: Arc<Notifications>,
}

impl Sent {
    fn over(fixture: Fixture, announce: bool) -> Sent {
        let router = Arc::new(Router::new(&Registry::new()));
        let notifications =
            Notifications::new(fixture.store.clone(), fixture.clock.clone(), Arc::clone(&router), announce);
        Sent { fixture, router, notifications: Arc::new(notifications) }
    }

    async fn all(announce: bool) -> Vec<Sent> {
        fixtures().await.into_iter().map(|fixture| Sent::over(fixture, announce)).collect()
    }

    fn connect(&self, user: Uuid) -> OpenSocket {
        let session = Uuid::new_v4();
        let socket = SocketSession { session, user, username: "someone".into(), node: "test".into() };
        self.router.open(socket).expect("the session is new")
    }

    async fn send(&self, notifications: Vec<NewNotification>) {
        self.notifications.send(notifications).await.expect("they are valid");
    }

    /// Sends a persistent notification with this subject.
    async fn store(&self, user: Uuid, subject: &str) {
        self.send(vec![new(user, subject)]).await;
    }

    /// Returns the subjects of a page and its cursor.
    async fn list(&self, user: Uuid, limit: i32, cursor: &str) -> (Vec<String>, String) {
        let page = self.notifications.list(user, Some(limit), cursor).await.expect("the query is valid");
        (page.notifications.into_iter().map(|one| one.subject).collect(), page.cacheable_cursor)
    }

    async fn ids(&self, user: Uuid) -> Vec<Uuid> {
        let page = self.notifications.list(user, Some(LISTED_MAX), "").await.expect("the query is valid");
        page.notifications.into_iter().map(|one| one.id).collect()
    }

    /// Takes the payloads that wait for the webhook, by topic.
    async fn take_pushed(&self) -> Vec<(String, Value)> {
        let take = |transaction: &mut Transaction<'_>| {
            let messages = outbox::claim(transaction, START_MS * 2, START_MS * 2, 10_000)?;
            messages.iter().try_for_each(|message| outbox::confirm(transaction, message.id))?;
            Ok::<_, StoreError>(messages)
        };
        let messages = self.fixture.store.write(take).await.expect("they can be read");
        messages
            .into_iter()
            .map(|message| (message.topic, serde_json::from_str(&message.payload).expect("it is JSON")))
            .collect()
    }
}

fn new(user: Uuid, subject: &str) -> NewNotification {
    NewNotification::persistent(user, 7, subject, r#"{"gold":5}"#)
}

/// Takes the notifications that a socket got, by message.
fn received(socket: &OpenSocket) -> Vec<Vec<api::Notification>> {
    let messages = std::iter::from_fn(|| socket.outbox.take()?.into_message());
    let notifications = messages.map(|message| match &message.envelope().message {
        Some(Message::Notifications(list)) => list.notifications.clone(),
        other => panic!("unexpected {other:?}"),
    });
    notifications.collect()
}

#[tokio::test]
async fn a_notification_reaches_all_sockets_of_its_user_and_is_stored() {
    for sent in Sent::all(false).await {
        let (user, other) = (sent.fixture.user().await, sent.fixture.user().await);
        let sockets = [sent.connect(user), sent.connect(user), sent.connect(other)];
        sent.send(vec![new(user, "hello").from_user(other)]).await;
        let [first, second, third] = sockets.each_ref().map(received);
        assert_eq!((first.len(), &first, third.len()), (1, &second, 0), "{}", sent.fixture.name);
        let listed = sent.notifications.list(user, None, "").await.expect("the query is valid").notifications;
        assert_eq!(listed.iter().map(|one| one.to_message()).collect::<Vec<_>>(), first[0], "live and stored alike");
        let one = &listed[0];
        assert_eq!((one.code, one.sender, one.created_at_ms, one.persistent), (7, Some(other), START_MS, true));
        assert_eq!(one.content, r#"{"gold":5}"#);
        assert!(sent.list(other, 10, "").await.0.is_empty());
    }
}

#[tokio::test]
async fn a_notification_that_is_not_persistent_is_live_only() {
    for sent in Sent::all(false).await {
        let user = sent.fixture.user().await;
        let socket = sent.connect(user);
        sent.send(vec![NewNotification { persistent: false, ..new(user, "now") }]).await;
        let live = received(&socket);
        assert_eq!((live[0][0].subject.as_str(), live[0][0].persistent), ("now", false));
        assert_eq!(live[0][0].sender_id, Uuid::nil().to_string(), "the server sent it");
        assert!(sent.list(user, 10, "").await.0.is_empty(), "{}", sent.fixture.name);
    }
}

#[tokio::test]
async fn a_cursor_continues_after_the_last_one_read_even_if_that_is_deleted() {
    for sent in Sent::all(false).await {
        let user = sent.fixture.user().await;
        let (empty, start) = sent.list(user, 10, "").await;
        assert!(empty.is_empty() && !start.is_empty(), "an empty page has a cursor too");
        for subject in ["a", "b", "c"] {
            sent.store(user, subject).await;
        }
        assert_eq!(sent.notifications.list(user, None, "").await.expect("valid").notifications.len(), 1, "the default");
        let (first, cursor) = sent.list(user, 2, &start).await;
        assert_eq!(first, ["a", "b"], "oldest first");
        sent.notifications.delete(user, sent.ids(user).await).await.expect("they are the user's");
        assert_eq!(sent.list(user, 2, &cursor).await, (Vec::new(), cursor.clone()), "the given cursor comes back");
        // The clock went back; the order stays that of sending.
        sent.fixture.clock.advance_ms(-5_000);
        sent.store(user, "d").await;
        let (next, last) = sent.list(user, 2, &cursor).await;
        assert_eq!(next, ["d"], "{}", sent.fixture.name);
        assert_eq!(sent.list(user, 2, &last).await, (Vec::new(), last.clone()));
    }
}

#[tokio::test]
async fn users_delete_only_their_own() {
    for sent in Sent::all(false).await {
        let (user, other) = (sent.fixture.user().await, sent.fixture.user().await);
        sent.store(user, "mine").await;
        let ids = sent.ids(user).await;
        sent.notifications.delete(other, ids.clone()).await.expect("others are ignored");
        sent.notifications.delete(user, vec![Uuid::new_v4()]).await.expect("unknown ones are ignored");
        sent.notifications.delete(user, Vec::new()).await.expect("nothing to do");
        assert_eq!(sent.ids(user).await, ids);
        sent.notifications.delete(user, ids).await.expect("it is there");
        assert!(sent.ids(user).await.is_empty(), "{}", sent.fixture.name);
    }
}

#[tokio::test]
async fn server_code_reads_changes_and_deletes_by_id() {
    for sent in Sent::all(false).await {
        let (user, other) = (sent.fixture.user().await, sent.fixture.user().await);
        sent.store(user, "a").await;
        sent.store(other, "b").await;
        let ids = [sent.ids(other).await, sent.ids(user).await, vec![Uuid::new_v4()]].concat();
        let subjects = async |of: Option<Uuid>| {
            let found = sent.notifications.find(of, &ids).await.expect("valid");
            found.into_iter().map(|one| (one.user, one.subject)).collect::<Vec<_>>()
        };
        assert_eq!(subjects(None).await, [(other, "b".to_owned()), (user, "a".to_owned())], "{}", sent.fixture.name);
        assert_eq!(subjects(Some(user)).await, [(user, "a".to_owned())]);
        let update = |id| NotificationUpdate { id, subject: None, content: None, sender: None };
        let changes = [
            NotificationUpdate { subject: Some("c".to_owned()), ..update(ids[0]) },
            NotificationUpdate { content: Some("{}".to_owned()), sender: Some(user), ..update(ids[1]) },
            NotificationUpdate { subject: Some("nobody's".to_owned()), ..update(ids[2]) },
        ];
        sent.notifications.update(&changes).await.expect("valid");
        let found = sent.notifications.find(None, &ids).await.expect("valid");
        assert_eq!(
            (found[0].subject.as_str(), found[0].content.as_str(), found[0].sender),
            ("c", r#"{"gold":5}"#, None)
        );
        assert_eq!((found[1].subject.as_str(), found[1].content.as_str(), found[1].sender), ("a", "{}", Some(user)));
        let bad = [
            vec![NotificationUpdate { subject: Some(String::new()), ..update(ids[0]) }],
            vec![NotificationUpdate { content: Some("[]".to_owned()), ..update(ids[0]) }],
            vec![update(ids[0]); CHANGED_MAX + 1],
        ];
        for bad in bad {
            assert_eq!(error_of(sent.notifications.update(&bad).await).0, GrpcCode::InvalidArgument);
        }
        let many = vec![Uuid::nil(); CHANGED_MAX + 1];
        assert_eq!(error_of(sent.notifications.find(None, &many).await).0, GrpcCode::InvalidArgument);
        assert_eq!(error_of(sent.notifications.delete_by_id(&many).await).0, GrpcCode::InvalidArgument);
        sent.notifications.update(&[]).await.expect("nothing to do");
        sent.notifications.delete_by_id(&[]).await.expect("nothing to do");
        assert!(sent.notifications.find(None, &[]).await.expect("valid").is_empty());
        sent.notifications.delete_by_id(&ids).await.expect("unknown ones are ignored");
        assert!(subjects(None).await.is_empty(), "{}", sent.fixture.name);
    }
}

#[tokio::test]
async fn bad_input_is_rejected_and_nothing_is_sent() {
    for sent in Sent::all(false).await {
        let user = sent.fixture.user().await;
        let socket = sent.connect(user);
        let bad = [
            NewNotification { subject: String::new(), ..new(user, "x") },
            NewNotification { subject: "x".repeat(SUBJECT_BYTES_MAX + 1), ..new(user, "x") },
            NewNotification { subject: "a\0b".to_owned(), ..new(user, "x") },
            NewNotification { content: "[]".to_owned(), ..new(user, "x") },
            NewNotification { content: "{".to_owned(), ..new(user, "x") },
            NewNotification { content: format!("{{\"a\":\"{}\"}}", "x".repeat(CONTENT_BYTES_MAX)), ..new(user, "x") },
        ];
        for bad in bad {
            let outcome = sent.notifications.send(vec![new(user, "valid"), bad]).await;
            assert_eq!(error_of(outcome).0, GrpcCode::InvalidArgument);
        }
        let many = vec![new(user, "x"); SENT_MAX + 1];
        assert_eq!(error_of(sent.notifications.send(many).await).0, GrpcCode::InvalidArgument);
        let ids = vec![Uuid::nil(); DELETED_MAX + 1];
        assert_eq!(error_of(sent.notifications.delete(user, ids).await).0, GrpcCode::InvalidArgument);
        for limit in [0, -1, LISTED_MAX + 1] {
            let outcome = sent.notifications.list(user, Some(limit), "").await;
            assert_eq!(error_of(outcome).1, "Invalid limit - limit must be between 1 and 100.");
        }
        for cursor in ["?", "e30", "bm90aGluZw"] {
            assert_eq!(error_of(sent.notifications.list(user, None, cursor).await).1, "Cursor is invalid or expired.");
        }
        assert!(received(&socket).is_empty() && sent.ids(user).await.is_empty(), "{}", sent.fixture.name);
        sent.store(Uuid::new_v4(), "to nobody").await;
    }
}

#[tokio::test]
async fn the_oldest_are_dropped_beyond_the_maximum() {
    for sent in Sent::all(false).await {
        let user = sent.fixture.user().await;
        let all: Vec<_> = (0..STORED_MAX).map(|number| new(user, &number.to_string())).collect();
        sent.send(all).await;
        sent.send(vec![new(user, "one more"), new(user, "two more")]).await;
        assert_eq!(sent.fixture.count("SELECT count(*) FROM notifications").await, STORED_MAX);
        assert_eq!(sent.list(user, 1, "").await.0, ["2"], "{}", sent.fixture.name);
    }
}

#[tokio::test]
async fn many_at_once_are_several_messages_in_order() {
    let sent = Sent::all(false).await.remove(0);
    let user = sent.fixture.user().await;
    let socket = sent.connect(user);
    sent.send((0..25).map(|number| new(user, &number.to_string())).collect()).await;
    let live = received(&socket);
    assert_eq!(live.iter().map(Vec::len).collect::<Vec<_>>(), [PER_MESSAGE_MAX, PER_MESSAGE_MAX, 5]);
    let subjects: Vec<String> = live.into_iter().flatten().map(|one| one.subject).collect();
    assert_eq!(subjects, (0..25).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[tokio::test]
async fn absent_users_are_told_by_the_webhook() {
    for sent in Sent::all(true).await {
        let (absent, present) = (sent.fixture.user().await, sent.fixture.user().await);
        let socket = sent.connect(present);
        sent.send(vec![new(absent, "come back").from_user(present), new(present, "hello")]).await;
        let pushed = sent.take_pushed().await;
        let [(topic, payload)] = &pushed[..] else { panic!("{pushed:?}") };
        let expected = json!({
            "user_id": absent, "id": sent.ids(absent).await[0], "subject": "come back", "content": { "gold": 5 },
            "code": 7, "sender_id": present, "create_time": START_MS, "persistent": true,
        });
        assert_eq!((topic.as_str(), payload), (TOPIC, &expected), "{}", sent.fixture.name);
        drop(socket);
        sent.send(vec![NewNotification { persistent: false, ..new(present, "gone") }]).await;
        assert_eq!(sent.take_pushed().await[0].1["subject"], "gone");
        for number in 0..WAITING_PER_USER_MAX + 5 {
            sent.store(absent, &number.to_string()).await;
        }
        assert_eq!(sent.take_pushed().await.len() as i64, WAITING_PER_USER_MAX, "the others are stored only");
        assert_eq!(sent.fixture.count("SELECT count(*) FROM notifications").await, WAITING_PER_USER_MAX + 7);
    }
}

#[tokio::test]
async fn a_rolled_back_transaction_leaves_nothing() {
    for sent in Sent::all(true).await {
        let user = sent.fixture.user().await;
        let notifications = Arc::clone(&sent.notifications);
        let store = move |transaction: &mut Transaction<'_>| {
            notifications.store(transaction, &new(user, "never"), START_MS)?;
            Err::<(), _>(StoreError::Unavailable("changed its mind".to_owned()))
        };
        assert!(sent.fixture.store.write(store).await.is_err());
        assert!(sent.ids(user).await.is_empty() && sent.take_pushed().await.is_empty(), "{}", sent.fixture.name);
    }
}

#[tokio::test]
async fn a_notification_to_all_is_stored_for_every_account_in_pages() {
    for sent in Sent::all(true).await {
        let users = USERS_PER_PAGE + 3;
        let add = move |transaction: &mut Transaction<'_>| {
            let insert = "INSERT INTO users (id, username, created_at, updated_at) VALUES (?1, ?2, 1, 1)";
            for number in 1..=users {
                transaction.execute(insert, values![Uuid::from_u128(number as u128), &number.to_string()])?;
            }
            Ok::<_, StoreError>(())
        };
        sent.fixture.store.write(add).await.expect("users can be made");
        let (user, guest) = (Uuid::from_u128(users as u128), Uuid::new_v4());
        let sockets = [sent.connect(user), sent.connect(guest)];
        let all = NotificationToAll {
            subject: "maintenance".to_owned(),
            content: "{}".to_owned(),
            code: 1,
            persistent: true,
        };
        assert_eq!(sent.notifications.send_to_all(all.clone()).await, Ok(users as u64), "{}", sent.fixture.name);
        assert_eq!(sent.fixture.count("SELECT count(DISTINCT user_id) FROM notifications").await, users);
        assert_eq!(received(&sockets[0])[0][0].subject, "maintenance");
        let topics: Vec<String> = sent.take_pushed().await.into_iter().map(|(topic, _)| topic).collect();
        assert_eq!(topics, ["notification.sent_to_all"], "one message for all");
        let live = NotificationToAll { persistent: false, ..all };
        assert_eq!(sent.notifications.send_to_all(live).await, Ok(0));
        for socket in &sockets {
            assert_eq!(received(socket).concat().len(), 1, "everyone who is connected");
        }
        assert_eq!(sent.fixture.count("SELECT count(*) FROM notifications").await, users);
    }
}

#[tokio::test]
async fn concurrent_notifications_are_read_once_each_by_a_reader_with_a_cursor() {
    for sent in Sent::all(false).await {
        let user = sent.fixture.user().await;
        let senders: Vec<_> = (0..20)
            .map(|sender| {
                let notifications = Arc::clone(&sent.notifications);
                tokio::spawn(async move {
                    for number in 0..5 {
                        let one = new(user, &format!("{sender}:{number}"));
                        notifications.send(vec![one]).await.expect("it is valid");
                    }
                })
            })
            .collect();
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        while seen.len() < 100 {
            let (page, next) = sent.list(user, 7, &cursor).await;
            seen.extend(page);
            cursor = next;
            tokio::task::yield_now().await;
        }
        for sender in senders {
            sender.await.expect("it sends all");
        }
        assert!(sent.list(user, 100, &cursor).await.0.is_empty());
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 100, "{}: none is missed or repeated", sent.fixture.name);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Send,
    /// Reads a page of this size with the cursor of the reader.
    Read(i32),
    /// Deletes the notification at this place of the list.
    Delete(usize),
}

#[test]
fn a_reader_with_a_cursor_sees_what_the_model_says() {
    let step = prop_oneof![
        3 => Just(Step::Send),
        2 => (1..4_i32).prop_map(Step::Read),
        1 => (0..6_usize).prop_map(Step::Delete),
    ];
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let sent = runtime.block_on(async { Sent::all(false).await.remove(0) });
    let mut runner = TestRunner::new(Config::with_cases(64));
    let ran = runner.run(&prop::collection::vec(step, 1..40), |steps| {
        runtime.block_on(async {
            let user = sent.fixture.user().await;
            let (mut stored, mut read_up_to, mut cursor): (Vec<usize>, usize, String) = (Vec::new(), 0, String::new());
            let mut count = 0;
            for step in steps {
                match step {
                    Step::Send => {
                        count += 1;
                        sent.store(user, &count.to_string()).await;
                        stored.push(count);
                    }
                    Step::Read(limit) => {
                        let (page, next) = sent.list(user, limit, &cursor).await;
                        let after = stored.iter().filter(|number| **number > read_up_to);
                        let expected: Vec<usize> = after.take(limit as usize).copied().collect();
                        prop_assert_eq!(page, expected.iter().map(usize::to_string).collect::<Vec<_>>());
                        read_up_to = expected.last().copied().unwrap_or(read_up_to);
                        cursor = next;
                    }
                    Step::Delete(place) if place < stored.len() => {
                        let id = sent.ids(user).await[place];
                        sent.notifications.delete(user, vec![id]).await.expect("it is there");
                        stored.remove(place);
                    }
                    Step::Delete(_) => {}
                }
            }
            Ok(())
        })
    });
    ran.expect("the list and the model agree");
}

#[test]
fn codes_are_those_of_the_protocol() {
    let codes = [
        code::DIRECT_MESSAGE_REQUEST,
        code::FRIEND_REQUEST,
        code::FRIEND_ACCEPTED,
        code::GROUP_ADDED,
        code::GROUP_JOIN_REQUEST,
        code::FRIEND_JOINED_GAME,
        code::SINGLE_SOCKET,
        code::BANNED,
        code::FRIEND_REMOVED,
    ];
    assert_eq!(codes, [-1, -2, -3, -4, -5, -6, -7, -8, -9]);
}
