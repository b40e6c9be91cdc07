//! Opening a socket: token, format, limits.

use aether_messages::prost::Message as _;
use aether_messages::realtime::envelope::Message;
use aether_messages::realtime::{Envelope, Ping, Pong};
use aether_server::tokens::Role;
use aether_testkit_server::{ApiClient, ServicesSocket, SocketInput, TestServer};
use serde_json::json;

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
    let tokens = ["", "x", &user.refresh_token, development.reveal(), expired.reveal()];
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
