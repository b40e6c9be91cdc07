//! Status of users: updates, followers, and the end of a session.

use crate::sockets::api_limits::servers;
use aether_server::services::router::{PresenceMeta, Shown, StreamId, mode};
use aether_testkit_server::{ApiClient, ServicesSocket, TestServer, until};
use serde_json::{Value, json};
use uuid::Uuid;

/// Returns joins and leaves of a status event, as pairs of user and status.
fn changes(event: &Value) -> [Vec<(String, String)>; 2] {
    let event = &event["status_presence_event"];
    ["joins", "leaves"].map(|kind| {
        let presences = event[kind].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        presences.iter().map(|presence| (text(&presence["user_id"]), text(&presence["status"]))).collect()
    })
}

fn changed(user: &ApiClient, status: &str) -> Vec<(String, String)> {
    vec![(user.user.clone(), status.to_owned())]
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_see_the_status_of_a_user_until_the_session_ends() {
    for (server, _database) in servers(|_| {}).await {
        let [ann, bob] = [ApiClient::new_user(server.http).await, ApiClient::new_user(server.http).await];
        let mut watching = server.socket(&ann.token).await;
        let empty = watching.request(json!({ "status_follow": { "user_ids": [bob.user] } })).await;
        assert_eq!(empty, json!({ "status": {} }), "bob is not connected");

        let query = format!("?token={}&status=true", bob.token);
        let mut shown = ServicesSocket::open(server.http, &query, "").await.expect("it is admitted");
        assert_eq!(changes(&watching.next().await), [changed(&bob, ""), vec![]], "status=true sets an empty one");
        assert_eq!(changes(&shown.next().await), [changed(&bob, ""), vec![]], "a session follows its own user");
        assert_eq!(shown.request(json!({ "status_update": { "status": "in a match" } })).await, json!({}));
        assert_eq!(changes(&watching.next().await), [changed(&bob, "in a match"), changed(&bob, "")]);

        let mut later = server.socket(&ann.token).await;
        let account = bob_name(&server, &bob).await;
        let followed = later.request(json!({ "status_follow": { "usernames": [account] } })).await;
        let presence = &followed["status"]["presences"][0];
        assert_eq!((&presence["user_id"], &presence["status"]), (&json!(bob.user), &json!("in a match")), "{followed}");
        assert_eq!(presence["username"], json!(account));
        assert!(Uuid::try_parse(presence["session_id"].as_str().expect("a session")).is_ok());
        assert_eq!(later.request(json!({ "status_unfollow": { "user_ids": [bob.user] } })).await, json!({}));

        drop(shown);
        assert_eq!(changes(&watching.next().await), [vec![], changed(&bob, "in a match")], "it ends with the session");
        assert_eq!(later.request(json!({ "ping": {} })).await, json!({ "pong": {} }), "it gets no event any more");
        server.stop().await;
    }
}

async fn bob_name(server: &TestServer, bob: &ApiClient) -> String {
    let id = Uuid::try_parse(&bob.user).expect("ids are ids");
    server.services().accounts.account(id).await.expect("bob has an account").user.username
}

#[tokio::test(flavor = "multi_thread")]
async fn each_session_of_a_user_has_its_own_status_and_updates_keep_their_order() {
    let server = TestServer::start(|_| {}).await;
    let user = ApiClient::new_user(server.http).await;
    let [mut one, mut other] = [server.socket(&user.token).await, server.socket(&user.token).await];
    for socket in [&mut one, &mut other] {
        socket.request(json!({ "ping": {} })).await;
    }
    // As many as the burst of costly messages.
    for number in 0..5 {
        one.send(&json!({ "status_update": { "status": number.to_string() } })).await;
    }
    for number in 0..5 {
        let [joins, _] = changes(&other.next().await);
        assert_eq!(joins, changed(&user, &number.to_string()));
    }
    other.request(json!({ "status_update": { "status": "mine" } })).await;
    let stream = StreamId::status(Uuid::try_parse(&user.user).expect("ids are ids"));
    let statuses = || {
        let listed = server.services().router.list(&stream, Shown::Visible);
        let mut statuses: Vec<String> = listed.into_iter().map(|presence| presence.meta.status).collect();
        statuses.sort();
        statuses
    };
    assert_eq!(statuses(), ["4", "mine"]);
    assert_eq!(other.request(json!({ "status_update": {} })).await, json!({}), "without a text it is removed");
    assert_eq!(statuses(), ["4"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_code_sends_to_streams_and_to_users() {
    let server = TestServer::start(|_| {}).await;
    let [ann, bob] = [ApiClient::new_user(server.http).await, ApiClient::new_user(server.http).await];
    let mut sockets = [server.socket(&ann.token).await, server.socket(&bob.token).await];
    for socket in &mut sockets {
        socket.request(json!({ "ping": {} })).await;
    }
    let router = &server.services().router;
    let sessions = [&ann, &bob].map(|user| {
        let stream = StreamId::notifications(Uuid::try_parse(&user.user).expect("ids are ids"));
        let listed = router.list(&stream, Shown::All);
        assert_eq!(listed.len(), 1, "every session is in the stream of its user");
        listed[0].socket.session
    });
    let stream = StreamId { mode: mode::GAME_MIN, label: "zone".to_owned(), ..StreamId::default() };
    for session in sessions {
        router.track(session, &stream, PresenceMeta::default()).expect("the session is connected");
    }
    assert_eq!(router.count(&stream), 2);
    let event = sockets[0].next().await;
    assert_eq!(event["stream_presence_event"]["stream"], json!({ "mode": 64, "label": "zone" }), "{event}");
    sockets[0].next().await;
    sockets[1].next().await;
    assert_eq!(router.send_data(&stream, None, "boom".to_owned(), true), 2);
    for socket in &mut sockets {
        let data = socket.next().await;
        let expected = json!({ "stream": { "mode": 64, "label": "zone" }, "data": "boom", "reliable": true });
        assert_eq!(data["stream_data"], expected);
    }
    assert_eq!(router.close_stream(&stream), 2);
    assert_eq!(router.send_data(&stream, None, "boom".to_owned(), true), 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_closed_alone() {
    let server = TestServer::start(|_| {}).await;
    let [ann, bob] = [ApiClient::new_user(server.http).await, ApiClient::new_user(server.http).await];
    let _slow = ServicesSocket::connect_slow(server.http, &ann.token, 4_096).await;
    let mut quick = server.socket(&bob.token).await;
    let users = [&ann, &bob].map(|user| Uuid::try_parse(&user.user).expect("ids are ids"));
    let router = &server.services().router;
    until("both sessions", || users.iter().all(|user| router.count(&StreamId::notifications(*user)) == 1)).await;
    let data = "x".repeat(60_000);
    let mut sent = 0;
    while server.metric("aether_outboxes_full_total", &[]) == 0.0 {
        sent += 1;
        assert!(sent < 5_000, "the slow client is closed at some time");
        for user in users {
            router.send_data(&StreamId::notifications(user), None, data.clone(), true);
        }
        let received = quick.next().await;
        assert_eq!(received["stream_data"]["data"].as_str().map(str::len), Some(data.len()));
    }
    until("the end of the slow session", || router.count(&StreamId::notifications(users[0])) == 0).await;
    assert_eq!(server.metric("aether_outboxes_full_total", &[]), 1.0);
    assert_eq!(quick.request(json!({ "ping": {} })).await, json!({ "pong": {} }));
    server.until_metric("aether_connections_closed_total", &[("reason", "too_slow")], 1.0).await;
    server.stop().await;
}
