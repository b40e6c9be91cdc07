//! Chat behind the socket: rooms, direct messages, history, changes, limits and bad input.

use crate::sockets::api_limits::servers;
use aether_server::config::OperationRate;
use aether_server::services::chat::limits::{CONTENT_BYTES_MAX, PAGE_MAX, ROOM_NAME_CHARS_MAX};
use aether_server::services::chat::{Channel, HistoryPage, HistoryQuery, NewMessage, code};
use aether_server::services::socket::ChannelMessageSend;
use aether_server::services::{GrpcCode, ServiceError};
use aether_testkit_server::{ApiClient, ServicesSocket, TestServer};
use serde_json::{Value, json};
use uuid::Uuid;

/// Type of a channel in a join.
const ROOM: i32 = 1;
const DIRECT: i32 = 2;
const GROUP: i32 = 3;

/// A user with a socket.
struct Member {
    api: ApiClient,
    socket: ServicesSocket,
}

impl Member {
    async fn new(server: &TestServer) -> Member {
        let api = ApiClient::new_user(server.http).await;
        let socket = server.socket(&api.token).await;
        Member { api, socket }
    }

    async fn join(&mut self, target: &str, kind: i32) -> Value {
        self.socket.request(json!({ "channel_join": { "target": target, "type": kind } })).await
    }

    /// Joins a room, and returns its id.
    async fn join_room(&mut self, name: &str) -> String {
        let answer = self.join(name, ROOM).await;
        answer["channel"]["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    async fn write(&mut self, channel: &str, text: &str) -> Value {
        let content = json!({ "text": text }).to_string();
        let send = json!({ "channel_message_send": { "channel_id": channel, "content": content } });
        let answer = self.socket.request(send).await;
        assert!(answer["channel_message_ack"].is_object(), "{answer}");
        answer["channel_message_ack"].clone()
    }

    /// Returns the next message of a channel, and skips everything else.
    async fn message(&mut self) -> Value {
        loop {
            let mut message = self.socket.next().await;
            if message["channel_message"].is_object() {
                return message["channel_message"].take();
            }
        }
    }

    async fn presence_event(&mut self) -> Value {
        loop {
            let mut message = self.socket.next().await;
            if message["channel_presence_event"].is_object() {
                return message["channel_presence_event"].take();
            }
        }
    }

    async fn history(&mut self, channel: &str, query: &str) -> Value {
        let answer = self.api.get(&format!("/v2/channel/{channel}?{query}")).await.expect("an answer");
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str(&answer.body).expect("answers are JSON")
    }
}

fn error_of(answer: &Value) -> (i64, &str) {
    let error = &answer["error"];
    let message = error["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
    (error["code"].as_i64().unwrap_or(0), message)
}

fn numbers(page: &Value) -> Vec<i64> {
    let messages = page["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    messages.iter().map(number).collect()
}

fn number(message: &Value) -> i64 {
    message["sequence"].as_str().and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_reaches_all_members_and_the_history() {
    for (server, _database) in servers(|_| {}).await {
        let [mut ann, mut bob] = [Member::new(&server).await, Member::new(&server).await];
        let room = ann.join_room("lobby").await;
        assert_eq!(room, "2...lobby");
        let joined = bob.join("lobby", ROOM).await;
        let present = joined["channel"]["presences"].as_array().expect("ann is there");
        assert_eq!((present.len(), &present[0]["user_id"]), (1, &json!(ann.api.user)));
        assert_eq!(joined["channel"]["self"]["user_id"], json!(bob.api.user));
        let ack = bob.write(&room, "hello").await;
        assert_eq!((&ack["code"], &ack["persistent"], number(&ack)), (&json!(0), &json!(true), 1));
        for member in [&mut ann, &mut bob] {
            let message = member.message().await;
            assert_eq!(message["message_id"], ack["message_id"]);
            assert_eq!(message["content"], json!(r#"{"text":"hello"}"#));
            assert_eq!((&message["room_name"], number(&message)), (&json!("lobby"), 1));
        }
        let history = ann.history(&room, "limit=10").await;
        assert_eq!(history["messages"][0]["message_id"], ack["message_id"]);
        assert_eq!(history["messages"][0]["sender_id"], json!(bob.api.user));
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_members_are_not_shown_and_get_messages() {
    let server = TestServer::start(|_| {}).await;
    let [mut ann, mut ghost, mut bob] =
        [Member::new(&server).await, Member::new(&server).await, Member::new(&server).await];
    let room = ann.join_room("haunted").await;
    let hidden = json!({ "channel_join": { "target": "haunted", "type": ROOM, "hidden": true } });
    assert!(ghost.socket.request(hidden).await["channel"].is_object());
    let joined = bob.join("haunted", ROOM).await;
    assert_eq!(joined["channel"]["presences"].as_array().map(Vec::len), Some(1), "{joined}");
    // The first event is ann's own join, the second bob's: there is none of the hidden member.
    assert_eq!(ann.presence_event().await["joins"][0]["user_id"], json!(ann.api.user));
    assert_eq!(ann.presence_event().await["joins"][0]["user_id"], json!(bob.api.user));
    ann.write(&room, "boo").await;
    assert_eq!(ghost.message().await["content"], json!(r#"{"text":"boo"}"#));
    let again = bob.join("haunted", ROOM).await;
    assert_eq!(again["channel"]["presences"].as_array().map(Vec::len), Some(2), "who was there is listed: {again}");
    assert_eq!(bob.socket.request(json!({ "channel_leave": { "channel_id": room } })).await, json!({}));
    assert_eq!(ann.presence_event().await["leaves"][0]["user_id"], json!(bob.api.user));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_changed_and_removed_by_its_sender_only() {
    for (server, _database) in servers(|_| {}).await {
        let [mut ann, mut bob] = [Member::new(&server).await, Member::new(&server).await];
        let room = ann.join_room("edits").await;
        bob.join_room("edits").await;
        let id = ann.write(&room, "frist").await["message_id"].clone();
        bob.message().await;
        let update = |content: &str| json!({ "channel_message_update": { "channel_id": room, "message_id": id, "content": content } });
        let remove = json!({ "channel_message_remove": { "channel_id": room, "message_id": id } });
        for request in [update("{}"), remove.clone()] {
            let refused = bob.socket.request(request).await;
            assert_eq!(error_of(&refused).0, 3, "{refused}");
        }
        let changed = ann.socket.request(update(r#"{"text":"first"}"#)).await["channel_message_ack"].clone();
        assert_eq!((&changed["code"], &changed["message_id"], number(&changed)), (&json!(1), &id, 1));
        let seen = bob.message().await;
        assert_eq!((&seen["code"], &seen["content"]), (&json!(1), &json!(r#"{"text":"first"}"#)));
        let stored = bob.history(&room, "limit=10").await;
        assert_eq!(stored["messages"][0]["content"], json!(r#"{"text":"first"}"#));
        assert_eq!(stored["messages"][0]["code"], json!(0), "it is still a message");
        let removed = ann.socket.request(remove.clone()).await["channel_message_ack"].clone();
        assert_eq!(removed["code"], json!(2));
        assert_eq!(bob.message().await["code"], json!(2));
        assert_eq!(numbers(&bob.history(&room, "limit=10").await), [0; 0]);
        assert_eq!(error_of(&ann.socket.request(remove).await).0, 3, "it is gone");
        assert_eq!(number(&ann.write(&room, "next").await), 2, "its number is not used again");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_not_stored_is_changed_by_its_sender_only() {
    let server = TestServer::start(|_| {}).await;
    let [mut ann, mut bob] = [Member::new(&server).await, Member::new(&server).await];
    let join = json!({ "channel_join": { "target": "brief", "type": ROOM, "persistence": false } });
    let room = ann.socket.request(join.clone()).await["channel"]["id"].as_str().expect("a channel").to_owned();
    assert!(bob.socket.request(join).await["channel"].is_object());
    let ack = ann.write(&room, "soon gone").await;
    assert_eq!((&ack["persistent"], number(&ack)), (&json!(false), 0));
    let update = json!({ "channel_message_update": {
        "channel_id": room, "message_id": ack["message_id"], "content": r#"{"text":"changed"}"#
    } });
    assert_eq!(error_of(&bob.socket.request(update.clone()).await).0, 3);
    assert_eq!(ann.socket.request(update).await["channel_message_ack"]["code"], json!(1));
    assert_eq!(bob.message().await["content"], json!(r#"{"text":"soon gone"}"#));
    assert_eq!(bob.message().await["content"], json!(r#"{"text":"changed"}"#));
    assert_eq!(ann.history(&room, "limit=10").await, json!({}));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_is_read_in_pages_in_both_directions() {
    for (server, _database) in servers(|_| {}).await {
        let mut ann = Member::new(&server).await;
        let room = ann.join_room("history").await;
        for number in 1..=7 {
            ann.write(&room, &number.to_string()).await;
        }
        for (forward, pages) in [(true, [[1, 2, 3], [4, 5, 6]]), (false, [[7, 6, 5], [4, 3, 2]])] {
            let first = ann.history(&room, &format!("limit=3&forward={forward}")).await;
            assert_eq!(numbers(&first), pages[0]);
            assert!(first["prev_cursor"].is_null(), "{first}");
            let next = |page: &Value, cursor: &str| {
                let cursor = page[cursor].as_str().unwrap_or_else(|| panic!("{page}")).to_owned();
                format!("limit=3&forward={forward}&cursor={cursor}")
            };
            let second = ann.history(&room, &next(&first, "next_cursor")).await;
            assert_eq!(numbers(&second), pages[1]);
            let third = ann.history(&room, &next(&second, "next_cursor")).await;
            assert_eq!(numbers(&third).len(), 1);
            assert!(third["next_cursor"].is_null(), "{third}");
            assert_eq!(numbers(&ann.history(&room, &next(&third, "prev_cursor")).await), pages[1]);
            let back = ann.history(&room, &next(&second, "prev_cursor")).await;
            assert_eq!(numbers(&back), pages[0]);
            assert!(back["prev_cursor"].is_null(), "{back}");
        }
        let newest = ann.history(&room, "limit=2&forward=false").await;
        let cacheable = newest["cacheable_cursor"].as_str().expect("a cursor").to_owned();
        let later = format!("limit=10&forward=true&cursor={cacheable}");
        let empty = ann.history(&room, &later).await;
        assert_eq!((numbers(&empty), &empty["cacheable_cursor"]), (vec![], &json!(cacheable)));
        ann.write(&room, "later").await;
        assert_eq!(numbers(&ann.history(&room, &later).await), [8]);
        assert_eq!(numbers(&ann.history(&room, "").await), [1], "one message, if the request does not say");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_requests_are_answered_and_change_nothing() {
    let server = TestServer::start(|_| {}).await;
    let [mut ann, mut bob] = [Member::new(&server).await, Member::new(&server).await];
    let room = ann.join_room("limits").await;
    let long_name = "x".repeat(ROOM_NAME_CHARS_MAX + 1);
    let own = ann.api.user.clone();
    let unknown = Uuid::from_u128(7).to_string();
    for (target, kind) in [
        ("", ROOM),
        (&*long_name, ROOM),
        ("a\u{7}b", ROOM),
        ("room", 0),
        ("room", 9),
        (&own, DIRECT),
        (&unknown, DIRECT),
    ] {
        // Joins of one connection are limited to a few per second.
        let mut socket = server.socket(&ann.api.token).await;
        let join = json!({ "channel_join": { "target": target, "type": kind } });
        assert_eq!(error_of(&socket.request(join).await).0, 3, "{target} {kind}");
    }
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(CONTENT_BYTES_MAX));
    for content in ["", "text", "[]", "1", "{", r#"{"a":1}x"#, "null", &long] {
        let send = json!({ "channel_message_send": { "channel_id": room, "content": content } });
        assert_eq!(error_of(&ann.socket.request(send).await).0, 3, "{content}");
    }
    for channel in ["", "2...", "room", "9...room", "2...other"] {
        let send = json!({ "channel_message_send": { "channel_id": channel, "content": "{}" } });
        assert_eq!(error_of(&ann.socket.request(send).await).0, 3, "{channel}");
    }
    for id in ["", "x", &Uuid::from_u128(1).to_string()] {
        let update = json!({ "channel_message_update": { "channel_id": room, "message_id": id, "content": "{}" } });
        assert_eq!(error_of(&ann.socket.request(update).await).0, 3, "{id}");
    }
    let without_joining = json!({ "channel_message_send": { "channel_id": room, "content": "{}" } });
    let refused = bob.socket.request(without_joining).await;
    assert_eq!(error_of(&refused), (3, "Must join channel before sending messages."));
    for query in ["limit=0", "limit=-1", "limit=101", "cursor=x", "limit=a"] {
        let answer = ann.api.get(&format!("/v2/channel/{room}?{query}")).await.expect("an answer");
        assert_eq!(answer.status, 400, "{query}: {}", answer.body);
    }
    assert_eq!(PAGE_MAX, 100);
    assert_eq!(ann.history(&room, "limit=100").await, json!({}), "nothing was stored");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_direct_chat_is_of_two_users_and_invites_the_absent_one() {
    for (server, _database) in servers(|_| {}).await {
        let [mut ann, mut bob, mut eve] =
            [Member::new(&server).await, Member::new(&server).await, Member::new(&server).await];
        let bob_id = bob.api.user.clone();
        let joined = ann.join(&bob_id, DIRECT).await;
        let channel = joined["channel"]["id"].as_str().unwrap_or_else(|| panic!("{joined}")).to_owned();
        let invitation = bob.socket.next().await;
        let invitation = &invitation["notifications"]["notifications"][0];
        assert_eq!((&invitation["code"], &invitation["sender_id"]), (&json!(-1), &json!(ann.api.user)));
        let ann_id = ann.api.user.clone();
        assert_eq!(bob.join(&ann_id, DIRECT).await["channel"]["id"], json!(channel), "both have the same channel");
        ann.write(&channel, "psst").await;
        let message = bob.message().await;
        let mut users = [ann_id, bob_id];
        users.sort();
        assert_eq!([&message["user_id_one"], &message["user_id_two"]], [&json!(users[0]), &json!(users[1])]);
        let read = eve.api.get(&format!("/v2/channel/{channel}?limit=10")).await.expect("an answer");
        assert_eq!(read.status, 400, "{}", read.body);
        let send = json!({ "channel_message_send": { "channel_id": channel, "content": "{}" } });
        assert_eq!(error_of(&eve.socket.request(send).await).0, 3);
        assert_eq!(numbers(&bob.history(&channel, "limit=10").await), [1]);
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_have_no_gaps_and_members_see_them_in_order() {
    const SENDERS: usize = 8;
    const EACH: usize = 20;
    for (server, _database) in servers(|_| {}).await {
        let mut reader = Member::new(&server).await;
        let room = reader.join_room("crowd").await;
        let mut senders = Vec::new();
        for _ in 0..SENDERS {
            let mut sender = Member::new(&server).await;
            let room = sender.join_room("crowd").await;
            senders.push(tokio::spawn(async move {
                let mut taken = Vec::new();
                for index in 0..EACH {
                    taken.push(number(&sender.write(&room, &index.to_string()).await));
                }
                taken
            }));
        }
        let mut taken = Vec::new();
        for sender in senders {
            let own = sender.await.expect("the sender works");
            assert!(own.is_sorted(), "{own:?}");
            taken.extend(own);
        }
        taken.sort_unstable();
        let all: Vec<i64> = (1..=(SENDERS * EACH) as i64).collect();
        assert_eq!(taken, all);
        let mut seen = Vec::new();
        while seen.len() < all.len() {
            seen.push(number(&reader.message().await));
        }
        assert_eq!(seen, all, "a member sees the messages in the order of their numbers");
        let stored = reader.history(&room, "limit=100").await;
        assert_eq!(numbers(&stored), all[..100]);
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_filters_messages() {
    let server = TestServer::start_with(
        |_| {},
        |server| {
            server.before::<ChannelMessageSend, _>(|_, mut request| async move {
                if request.content.contains("forbidden") {
                    return Err(ServiceError::new(GrpcCode::InvalidArgument, "This word is not allowed."));
                }
                request.content = request.content.replace("darn", "****");
                Ok(Some(request))
            })
        },
    )
    .await;
    let mut ann = Member::new(&server).await;
    let room = ann.join_room("polite").await;
    ann.write(&room, "darn it").await;
    assert_eq!(ann.message().await["content"], json!(r#"{"text":"**** it"}"#));
    let send = json!({ "channel_message_send": { "channel_id": room, "content": r#"{"text":"forbidden"}"# } });
    assert_eq!(error_of(&ann.socket.request(send).await), (3, "This word is not allowed."));
    assert_eq!(numbers(&ann.history(&room, "limit=10").await), [1]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_is_refused_and_the_connection_stays_open() {
    let server = TestServer::start(|config| {
        *config.rate_mut("message") = OperationRate { per_second: Some(1), burst: Some(3) };
    })
    .await;
    let mut ann = Member::new(&server).await;
    let room = ann.join_room("flood").await;
    let send = json!({ "channel_message_send": { "channel_id": room, "content": "{}" } });
    let mut refused = 0;
    for _ in 0..20 {
        let answer = ann.socket.request(send.clone()).await;
        if answer["error"].is_object() {
            assert!(error_of(&answer).1.starts_with("Too many requests"), "{answer}");
            refused += 1;
        }
    }
    assert!(refused >= 10, "{refused}");
    assert_eq!(ann.socket.request(json!({ "ping": {} })).await, json!({ "pong": {} }));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_code_sends_changes_and_removes_messages() {
    let server = TestServer::start(|_| {}).await;
    let mut ann = Member::new(&server).await;
    let room = ann.join_room("news").await;
    let (chat, channel) = (&server.services().chat, Channel::parse(&room).expect("the id of a channel"));
    let new = NewMessage {
        channel: channel.clone(),
        code: code::CHAT,
        sender: None,
        username: String::new(),
        content: r#"{"text":"The server restarts soon."}"#.to_owned(),
    };
    let sent = chat.send_new(new, true).await.expect("it is stored");
    let seen = ann.message().await;
    assert_eq!((&seen["message_id"], number(&seen)), (&json!(sent.id.to_string()), 1));
    assert!(seen["sender_id"].is_null(), "{seen}");
    let changed = chat.update_stored(&channel, sent.id, r#"{"text":"Later."}"#.to_owned()).await;
    assert_eq!(changed.expect("it exists").code, code::UPDATE);
    assert_eq!(ann.message().await["content"], json!(r#"{"text":"Later."}"#));
    chat.remove_stored(&channel, sent.id).await.expect("it exists");
    assert_eq!(ann.message().await["code"], json!(2));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_who_block_each_other_do_not_chat() {
    for (server, _database) in servers(|_| {}).await {
        let [mut ann, mut bob, mut eve] =
            [Member::new(&server).await, Member::new(&server).await, Member::new(&server).await];
        let [ann_id, eve_id] = [ann.api.user.clone(), eve.api.user.clone()];
        let room = ann.join_room("blocks").await;
        for member in [&mut bob, &mut eve] {
            member.join_room("blocks").await;
        }
        let direct = ann.join(&eve_id, DIRECT).await["channel"]["id"].as_str().expect("a channel").to_owned();
        assert_eq!(eve.join(&ann_id, DIRECT).await["channel"]["id"], json!(direct));
        eve.write(&room, "before").await;
        assert_eq!(ann.message().await["content"], json!(r#"{"text":"before"}"#));
        let block = ann.api.send("POST", &format!("/v2/friend/block?ids={eve_id}"), "").await.expect("an answer");
        assert_eq!(block.status, 200, "{}", block.body);
        // The direct chat is closed for both, and cannot be joined again.
        for (member, other) in [(&mut ann, &eve_id), (&mut eve, &ann_id)] {
            let send = json!({ "channel_message_send": { "channel_id": direct, "content": "{}" } });
            assert_eq!(error_of(&member.socket.request(send).await).0, 3);
            let refused = member.join(other, DIRECT).await;
            assert!(error_of(&refused).1.contains("blocks the other"), "{refused}");
        }
        // In a room each does not get the messages of the other, and everyone else does.
        eve.write(&room, "from eve").await;
        ann.write(&room, "from ann").await;
        bob.write(&room, "from bob").await;
        assert_eq!(ann.message().await["content"], json!(r#"{"text":"from ann"}"#));
        assert_eq!(ann.message().await["content"], json!(r#"{"text":"from bob"}"#));
        assert_eq!(numbers(&ann.history(&room, "limit=10").await), [3, 4]);
        assert_eq!(numbers(&bob.history(&room, "limit=10").await), [1, 2, 3, 4]);
        assert_eq!(numbers(&eve.history(&room, "limit=10").await), [1, 2, 4]);
        let unblock = ann.api.send("DELETE", &format!("/v2/friend?ids={eve_id}"), "").await.expect("an answer");
        assert_eq!(unblock.status, 200, "{}", unblock.body);
        eve.write(&room, "after").await;
        assert_eq!(ann.message().await["content"], json!(r#"{"text":"after"}"#));
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_chat_of_a_group_is_for_its_members() {
    for (server, _database) in servers(|_| {}).await {
        let [mut ann, mut bob, mut eve] =
            [Member::new(&server).await, Member::new(&server).await, Member::new(&server).await];
        let name = format!("guild {}", Uuid::new_v4().simple());
        let created = ann.api.post("/v2/group", &json!({ "name": name, "open": true })).await.expect("an answer");
        let group = created.json()["id"].as_str().unwrap_or_else(|| panic!("{}", created.body)).to_owned();
        let channel = ann.join(&group, GROUP).await["channel"]["id"].as_str().expect("a channel").to_owned();
        assert_eq!(channel, format!("3.{group}.."));
        assert!(error_of(&bob.join(&group, GROUP).await).1.contains("Only members"));
        let joined = bob.api.post(&format!("/v2/group/{group}/join"), &json!({})).await.expect("an answer");
        assert_eq!(joined.status, 200, "{}", joined.body);
        let system = ann.message().await;
        assert_eq!((&system["code"], &system["sender_id"]), (&json!(3), &json!(bob.api.user)));
        assert_eq!(bob.join(&group, GROUP).await["channel"]["id"], json!(channel));
        let sent = bob.write(&channel, "hello").await;
        assert_eq!((&sent["group_id"], number(&sent)), (&json!(group), number(&system) + 1));
        assert_eq!(ann.message().await["message_id"], sent["message_id"]);
        // A member does not remove the messages of others, nor those of the server; an admin removes all.
        let remove = |id: &Value| json!({ "channel_message_remove": { "channel_id": channel, "message_id": id } });
        let own = ann.write(&channel, "from the admin").await;
        for id in [&own["message_id"], &system["message_id"]] {
            assert_eq!(error_of(&bob.socket.request(remove(id)).await).0, 3);
        }
        let removed = ann.socket.request(remove(&sent["message_id"])).await;
        assert_eq!(removed["channel_message_ack"]["code"], json!(2), "{removed}");
        let read = eve.api.get(&format!("/v2/channel/{channel}?limit=10")).await.expect("an answer");
        assert_eq!(read.status, 400, "{}", read.body);
        let kick = format!("/v2/group/{group}/kick?user_ids={}", bob.api.user);
        assert_eq!(ann.api.post(&kick, &json!({})).await.expect("an answer").status, 200);
        let send = json!({ "channel_message_send": { "channel_id": channel, "content": "{}" } });
        assert_eq!(error_of(&bob.socket.request(send).await).1, "Must join channel before sending messages.");
        assert_eq!(ann.api.send("DELETE", &format!("/v2/group/{group}"), "").await.expect("an answer").status, 200);
        let id = Channel::parse(&channel).expect("the id of a channel");
        let left = server.services().chat.history(None, &id, &HistoryQuery::default()).await;
        assert_eq!(left, Ok(HistoryPage::default()), "the messages are deleted with the group");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_code_acts_for_a_sender_and_changes_messages_that_are_not_stored() {
    let server = TestServer::start(|_| {}).await;
    let mut ann = Member::new(&server).await;
    let room = ann.join_room("news").await;
    let (chat, channel) = (&server.services().chat, Channel::parse(&room).expect("the id of a channel"));
    let sender = ann.api.user.parse().expect("an id");
    let new = |code: i32, content: &str| NewMessage {
        channel: channel.clone(),
        code,
        sender: Some(sender),
        username: "ann".to_owned(),
        content: content.to_owned(),
    };
    let sent = chat.send_new(new(code::CHAT, r#"{"a":1}"#), true).await.expect("it is stored");
    ann.message().await;
    let other = uuid::Uuid::new_v4();
    assert!(chat.update_as(other, &channel, sent.id, "{}".to_owned()).await.is_err());
    assert!(chat.remove_as(other, &channel, sent.id).await.is_err());
    assert!(chat.update_as(sender, &channel, sent.id, "[]".to_owned()).await.is_err());
    chat.update_as(sender, &channel, sent.id, r#"{"a":2}"#.to_owned()).await.expect("it is the sender's");
    assert_eq!(ann.message().await["content"], json!(r#"{"a":2}"#));
    chat.send_change(&new(code::UPDATE, r#"{"a":3}"#), sent.id).expect("valid");
    let seen = ann.message().await;
    assert_eq!((&seen["code"], &seen["message_id"]), (&json!(1), &json!(sent.id.to_string())));
    assert!(chat.send_change(&new(code::UPDATE, "text"), sent.id).is_err());
    let query = HistoryQuery { limit: Some(5), ..HistoryQuery::default() };
    let stored = chat.history(None, &channel, &query).await.expect("valid").messages;
    assert_eq!(stored[0].content, r#"{"a":2}"#, "the history did not change");
    chat.remove_as(sender, &channel, sent.id).await.expect("it is the sender's");
    assert_eq!(ann.message().await["code"], json!(2));
    server.stop().await;
}
