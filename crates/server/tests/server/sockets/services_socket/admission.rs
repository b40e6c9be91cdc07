//! Opening a socket: token, format, limits.

use aether_framing::websocket::codec::Opcode;
use aether_framing::websocket::handshake::{client_key, client_request};
use aether_messages::prost::Message as _;
use aether_messages::realtime::envelope::Message;
use aether_messages::realtime::{Envelope, Ping, Pong};
use aether_server::services::calls::Module;
use aether_server::tokens::Role;
use aether_testkit_server::{ApiClient, ServicesSocket, SocketInput, TestServer, masked, until};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::AsyncWriteExt as _;

#[tokio::test(flavor = "multi_thread")]
async fn a_ping_is_answered_with_its_cid_in_both_formats() {
    let server = TestServer::start(|_| {}).await;
    let user = ApiClient::new_user(server.http).await;
    for format in ["", "&format=json"] {
        let query = format!("?lang=en&status=true&token={}{format}", user.token);
        let mut socket = ServicesSocket::open(server.http, &query, "").await.expect("it is admitted");
        assert_eq!(socket.request(json!({ "ping": {} })).await, json!({ "pong": {} }));
    }
    // Another user, who does not see the end of the statuses above.
    let user = ApiClient::new_user(server.http).await;
    let query = format!("?token={}&format=protobuf", user.token);
    let mut socket = ServicesSocket::open(server.http, &query, "").await.expect("it is admitted");
    let ping = Envelope { cid: "7".to_owned(), message: Some(Message::Ping(Ping {})) };
    socket.send_binary(&ping.encode_to_vec()).await;
    let pong = Envelope { cid: "7".to_owned(), message: Some(Message::Pong(Pong {})) };
    assert_eq!(socket.input().await, Some(SocketInput::Binary(pong.encode_to_vec())));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_in_the_header_wins_over_the_query() {
    let server = TestServer::start(|_| {}).await;
    let user = ApiClient::new_user(server.http).await;
    let header = format!("Authorization: Bearer {}\r\nOrigin: https://any.example\r\n", user.token);
    let mut socket = ServicesSocket::open(server.http, "?token=bad", &header).await.expect("the header counts");
    assert_eq!(socket.request(json!({ "ping": {} })).await, json!({ "pong": {} }));
    let query = format!("?token={}", user.token);
    let rejected = ServicesSocket::open(server.http, &query, "Authorization: Bearer bad\r\n").await;
    assert_eq!(rejected.err().map(|answer| answer.status), Some(401));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_tokens_and_formats_are_rejected_before_the_upgrade() {
    let server = TestServer::start(|_| {}).await;
    let user = ApiClient::new_user(server.http).await;
    let development = server.token(Role::Player);
    let expired = server.sign(|claims| claims.expires_at = 1);
    let [banned, deleted] = [ApiClient::new_user(server.http).await, ApiClient::new_user(server.http).await];
    let id = uuid::Uuid::try_parse(&banned.user).expect("ids are ids");
    server.services().accounts.ban(vec![id]).await.expect("it can be banned");
    let mut deleting = ApiClient::new(server.http);
    deleting.authorize(format!("Bearer {}", deleted.token));
    assert_eq!(deleting.send("DELETE", "/v2/account", "").await.expect("the server answers").status, 200);
    let ended = [&*banned.token, &*deleted.token];
    let tokens = ["", "x", &user.refresh_token, development.reveal(), expired.reveal()].into_iter().chain(ended);
    for token in tokens {
        let rejected = ServicesSocket::open(server.http, &format!("?token={token}"), "").await.err();
        let answer = rejected.unwrap_or_else(|| panic!("{token} was admitted"));
        assert_eq!(answer.status, 401);
        assert!(answer.body.contains("Missing or invalid token"), "{}", answer.body);
        assert!(token.is_empty() || token == "x" || !answer.body.contains(token), "the answer repeats the token");
    }
    let query = format!("?token={}&format=xml", user.token);
    let answer = ServicesSocket::open(server.http, &query, "").await.err().expect("it is rejected");
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("Invalid format parameter"), "{}", answer.body);
    let answer = server.get(&format!("/ws?token={}", user.token)).await;
    assert_eq!(answer.status, 426, "without an upgrade: {}", answer.body);
    assert_eq!(server.connections(), 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_before_the_admission_are_not_handled() {
    let server = TestServer::start(|_| {}).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let (counted, mut module) = (Arc::clone(&calls), Module::default());
    let added = module.functions.register_rpc("count", move |_, _, payload| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move { Ok(payload) }
    });
    added.expect("the name is free");
    server.services().calls.replace("test", module).expect("the module is good");
    let user = ApiClient::new_user(server.http).await;
    let message = json!({ "cid": "1", "rpc": { "id": "count" } }).to_string();
    let message = masked(Opcode::Text, message.as_bytes());
    for token in ["", "x"] {
        let path = format!("/ws?token={token}");
        let mut request = client_request(&server.http.to_string(), &path, &client_key([7; 16]), None);
        request.extend_from_slice(&message);
        let mut stream = tokio::net::TcpStream::connect(server.http).await.expect("the server listens");
        stream.write_all(&request).await.expect("the server reads");
        let answer = TestServer::read_answer(stream).await;
        assert_eq!(answer.status, 401, "{}", answer.body);
    }
    assert_eq!(calls.load(Ordering::SeqCst), 0, "no function ran");
    // An admitted client may send with the upgrade.
    let path = format!("/ws?token={}", user.token);
    let mut request = client_request(&server.http.to_string(), &path, &client_key([7; 16]), None);
    request.extend_from_slice(&message);
    let mut stream = tokio::net::TcpStream::connect(server.http).await.expect("the server listens");
    stream.write_all(&request).await.expect("the server reads");
    until("the call", || calls.load(Ordering::SeqCst) == 1).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sockets_count_against_the_limits_of_the_account_and_the_address() {
    let server = TestServer::start(|config| {
        config.connections.per_account_max = 2;
        config.connections.per_ip_max = 3;
        // Limits of addresses apply to public servers.
        config.http.trusted_proxies = vec!["127.0.0.1".parse().expect("the address is valid")];
    })
    .await;
    let [one, other] = [ApiClient::new_user(server.http).await, ApiClient::new_user(server.http).await];
    let first = server.socket(&one.token).await;
    let _second = server.socket(&one.token).await;
    let query = |user: &ApiClient| format!("?token={}", user.token);
    let status = |opened: Result<ServicesSocket, aether_testkit_server::HttpAnswer>| opened.err().map(|it| it.status);
    assert_eq!(status(ServicesSocket::open(server.http, &query(&one), "").await), Some(429), "of the account");
    let _third = server.socket(&other.token).await;
    assert_eq!(status(ServicesSocket::open(server.http, &query(&other), "").await), Some(503), "of the address");
    drop(first);
    aether_testkit_server::until("a free connection", || server.connections() == 2).await;
    server.socket(&one.token).await;
    server.stop().await;
}
