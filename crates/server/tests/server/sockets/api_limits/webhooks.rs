//! Targets of webhooks.

use super::servers;
use aether_server::config::Secret;
use aether_server::services::event::WAITING_PER_ACCOUNT_MAX;
use aether_testkit_server::{ApiClient, DEADLINE, TestServer};
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

/// Starts a server with a webhook to an address and with these allowed networks.
async fn server(url: String, allowed: &[&str]) -> TestServer {
    let allowed = allowed.iter().map(|network| network.parse().expect("it is a network")).collect();
    TestServer::start(|config| {
        config.webhook.url = Some(url);
        config.webhook.secret = Some(Secret::new("a secret of the tests alone"));
        config.outgoing.allowed_networks = allowed;
    })
    .await
}

async fn report(server: &TestServer) {
    let mut client = ApiClient::new_user(server.http).await;
    let answer = client.post("/v2/event", &json!({ "name": "something" })).await.expect("the server answers");
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_to_a_private_network_fails() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("ports are free");
    let port = listener.local_addr().expect("it listens").port();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254", "10.0.0.1"] {
        let server = server(format!("http://{host}:{port}/hook"), &[]).await;
        report(&server).await;
        server.until_metric("aether_webhook_messages_total", &[("outcome", "failed")], 1.0).await;
        assert_eq!(server.metric("aether_webhook_messages_total", &[("outcome", "delivered")]), 0.0, "{host}");
        server.stop().await;
    }
    let came = timeout(Duration::from_millis(200), listener.accept()).await;
    assert!(came.is_err(), "someone came: {came:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_to_an_allowed_private_network_is_delivered() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("ports are free");
    let port = listener.local_addr().expect("it listens").port();
    let server = server(format!("http://127.0.0.1:{port}/hook"), &["127.0.0.1"]).await;
    report(&server).await;
    let (mut stream, _) = timeout(DEADLINE, listener.accept()).await.expect("it comes").expect("it can be taken");
    let mut request = Vec::new();
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        assert!(stream.read_buf(&mut request).await.expect("it can be read") > 0);
    }
    let request = String::from_utf8_lossy(&request).to_ascii_lowercase();
    assert!(request.starts_with("post /hook http/1.1"), "{request}");
    assert!(request.contains("idempotency-key: ") && request.contains("aether-signature: t="), "{request}");
    stream.write_all(b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n").await.expect("it can be answered");
    server.until_metric("aether_webhook_messages_total", &[("outcome", "delivered")], 1.0).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_an_account_are_bounded_while_the_webhook_is_down() {
    for (server, database) in servers(|config| {
        // Nothing listens there.
        config.webhook.url = Some("http://127.0.0.1:9/hook".to_owned());
        config.webhook.secret = Some(Secret::new("a secret of the tests alone"));
    })
    .await
    {
        let mut flooding = ApiClient::new_user(server.http).await;
        let event = json!({ "name": "flood", "properties": { "text": "x".repeat(8_000) } });
        let mut accepted = 0;
        let refused = loop {
            let answer = flooding.post("/v2/event", &event).await.expect("the server answers");
            match answer.status {
                200 => accepted += 1,
                _ => break answer,
            }
            assert!(accepted <= WAITING_PER_ACCOUNT_MAX, "{}", database.name);
        };
        assert_eq!((refused.status, accepted), (429, WAITING_PER_ACCOUNT_MAX), "{}: {}", database.name, refused.body);
        let mut other = ApiClient::new_user(server.http).await;
        assert_eq!(other.post("/v2/event", &event).await.expect("the server answers").status, 200, "{}", database.name);
        server.stop().await;
    }
}
