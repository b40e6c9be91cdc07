//! Clients behind a trusted proxy are limited one by one.

use aether_server::config::Config;
use aether_testkit_server::logins::{email, log_in};
use aether_testkit_server::{ApiClient, DEADLINE, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Connections that one address may have besides its realtime connections.
const HTTP_CONNECTIONS_EXTRA: usize = 32;
/// Incomplete bodies that one network may have.
const SLOW_BODIES_MAX: usize = 64;

fn trust_this_machine(config: &mut Config) {
    config.http.trusted_proxies = vec!["127.0.0.1".parse().expect("the address is valid")];
    config.connections.per_ip_max = 200;
    // Rates have their own tests.
    config.api.requests_per_second = Some(0);
    config.api.logins_per_second = Some(0);
    config.rate_mut("login").per_second = Some(0);
}

/// Sends a request that lacks a part of its body, as the proxy does for a client.
async fn send_slowly(server: &TestServer, client: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.http).await.expect("the server listens");
    let request = format!(
        "POST /v2/account/authenticate/device HTTP/1.1\r\nhost: game.example\r\nx-forwarded-for: {client}\r\n\
         authorization: Basic ZGVmYXVsdGtleTo=\r\ncontent-length: 100\r\n\r\n{{"
    );
    stream.write_all(request.as_bytes()).await.expect("the server reads");
    stream
}

/// Returns the start of the answer.
async fn answer(stream: &mut TcpStream) -> String {
    let mut bytes = [0; 1_024];
    let read = timeout(DEADLINE, stream.read(&mut bytes)).await.expect("the server answers in time");
    String::from_utf8_lossy(&bytes[..read.unwrap_or(0)]).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_bodies_of_one_client_refuse_only_that_client() {
    let server = TestServer::start(trust_this_machine).await;
    let mut held = Vec::new();
    for _ in 0..SLOW_BODIES_MAX {
        held.push(send_slowly(&server, "198.51.100.7").await);
    }
    // One of the requests is beyond the limit, whichever arrives last.
    held.push(send_slowly(&server, "198.51.100.7").await);
    let refused = async {
        loop {
            for stream in &mut held {
                let mut bytes = [0; 1_024];
                if let Ok(1..) = stream.try_read(&mut bytes) {
                    return String::from_utf8_lossy(&bytes).into_owned();
                }
            }
            tokio::task::yield_now().await;
        }
    };
    let refused = timeout(DEADLINE, refused).await.expect("one request is refused");
    assert!(refused.starts_with("HTTP/1.1 429 ") && refused.contains("are incomplete"), "{refused}");
    let mut other = ApiClient::new(server.http).with_header("x-forwarded-for", "198.51.100.8");
    assert_eq!(other.get("/healthcheck").await.expect("the server answers").status, 200);
    let mut slow_other = send_slowly(&server, "198.51.100.8").await;
    slow_other.write_all(&[b' '; 99]).await.expect("the server reads");
    let answered = answer(&mut slow_other).await;
    assert!(answered.starts_with("HTTP/1.1 400 "), "the body is read, and is not JSON: {answered}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_requests_are_counted_by_client_and_connections_of_the_proxy_are_not() {
    let server = TestServer::start(|config| {
        trust_this_machine(config);
        config.connections.per_ip_max = 1;
    })
    .await;
    // More connections of the proxy than one address may have, each with an idle client.
    let mut idle = Vec::new();
    for number in 0..4 * HTTP_CONNECTIONS_EXTRA {
        let mut client = ApiClient::new(server.http).with_header("x-forwarded-for", format!("203.0.113.{number}"));
        assert_eq!(client.get("/healthcheck").await.expect("the server answers").status, 200, "client {number}");
        idle.push(client);
    }
    // Open requests of one client, up to its limit.
    let mut held = Vec::new();
    for _ in 0..=HTTP_CONNECTIONS_EXTRA {
        held.push(send_slowly(&server, "198.51.100.7").await);
    }
    let beyond = async {
        loop {
            let mut client = ApiClient::new(server.http).with_header("x-forwarded-for", "198.51.100.7");
            let answer = client.get("/healthcheck").await.expect("the server answers");
            if answer.status != 200 {
                return answer;
            }
        }
    };
    let beyond = timeout(DEADLINE, beyond).await.expect("the client reaches its limit");
    assert_eq!((beyond.status, beyond.json()["code"].as_str()), (429, Some("rate_limited")), "{}", beyond.body);
    for client in &mut idle {
        assert_eq!(client.get("/healthcheck").await.expect("the server answers").status, 200, "others are served");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_passwords_of_one_ipv6_customer_are_limited_together() {
    let server = TestServer::start(trust_this_machine).await;
    let mut statuses = std::collections::BTreeMap::new();
    // Each attempt has another account, and another /64 of one /48. Sixteen of them share a /56.
    for number in 0..60 {
        let address = format!("2001:db8:1:{:x}::1", number * 16);
        let mut client = ApiClient::new(server.http).with_header("x-forwarded-for", address);
        *statuses.entry(log_in(&mut client, &email(), "wrong horse", false).await.status).or_insert(0) += 1;
    }
    // Four times the ten wrong passwords of one network.
    assert_eq!(statuses, [(401, 40), (429, 20)].into());
    let mut other = ApiClient::new(server.http).with_header("x-forwarded-for", "2001:db8:2::1");
    assert_eq!(log_in(&mut other, &email(), "wrong horse", false).await.status, 401, "another customer");
    server.stop().await;
}
