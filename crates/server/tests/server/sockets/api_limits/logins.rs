//! Logins: too large and too many.

use super::servers;
use aether_testkit_server::logins::{email, log_in, storm};
use aether_testkit_server::{ApiClient, TestServer};
use serde_json::json;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use uuid::Uuid;

#[tokio::test(flavor = "multi_thread")]
async fn a_password_of_a_megabyte_is_rejected_at_once() {
    let server = TestServer::start(|_| {}).await;
    let mut client = ApiClient::new(server.http);
    for bytes in [1_025, 200_000, 1 << 20] {
        for create in [true, false] {
            let began = Instant::now();
            let answer = log_in(&mut client, &email(), &"x".repeat(bytes), create).await;
            assert_eq!(answer.status, 400, "{}", answer.body);
            assert_eq!(answer.json()["code"], 3);
            assert!(began.elapsed() < Duration::from_secs(2), "{bytes} bytes took {:?}", began.elapsed());
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_of_one_network_beyond_its_rate_get_429() {
    rlimit::increase_nofile_limit(8_192).expect("the limit can be raised");
    let server = TestServer::start(|config| {
        config.api.logins_per_second = Some(5);
        config.api.logins_burst = 20;
    })
    .await;
    let statuses = storm(server.http, "correct horse").await;
    assert!(statuses.keys().all(|status| [401, 429].contains(status)), "{statuses:?}");
    assert!(statuses[&429] > 900, "{statuses:?}");
    // Device logins share the rate limit, which refills.
    let mut client = ApiClient::new(server.http);
    let end = Instant::now() + Duration::from_secs(10);
    let device = json!({ "id": format!("device-{}", Uuid::new_v4()) });
    while client.post("/v2/account/authenticate/device", &device).await.expect("the server answers").status == 429 {
        assert!(Instant::now() < end, "the rate limit does not refill");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_passwords_are_limited_by_account_and_by_address() {
    let server = TestServer::start(|_| {}).await;
    let mut client = ApiClient::new(server.http);
    let existing = email();
    assert_eq!(log_in(&mut client, &existing, "correct horse", true).await.status, 200);
    let mut statuses = Vec::new();
    for guess in 0..7 {
        statuses.push(log_in(&mut client, &existing, &format!("wrong horse {guess}"), false).await.status);
    }
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429, 429]);
    let right = log_in(&mut client, &existing, "correct horse", false).await;
    assert_eq!(right.status, 429, "the right password is rejected too");
    let others: Vec<u16> = {
        let mut statuses = Vec::new();
        for _ in 0..8 {
            statuses.push(log_in(&mut client, &email(), "wrong horse", false).await.status);
        }
        statuses
    };
    assert_eq!(others, [401, 401, 401, 401, 401, 429, 429, 429], "ten wrong ones from one address");
    server.stop().await;
}

/// Password of the owner in these tests.
const RIGHT: &str = "correct horse";

/// Signs in with an email address from an address behind the trusted proxy. Returns the status.
async fn sign_in_from(http: SocketAddr, from: &str, email: &str, password: &str, create: bool) -> u16 {
    let mut client = ApiClient::new(http).with_header("x-forwarded-for", from);
    let path = format!("/v2/account/authenticate/email?create={create}");
    let answer = client.post(&path, &json!({ "email": email, "password": password })).await;
    answer.expect("the server answers").status
}

/// Guesses from one address lock only that address out. Guesses from many addresses lock the account for new addresses;
/// the owner still signs in from a known one, and with a linked device. A spray of 40 passwords is checked 10 times.
#[tokio::test(flavor = "multi_thread")]
async fn guesses_lock_out_the_guesser_and_not_the_owner() {
    let (home, email) = ("203.0.113.1", "owner@example.com");
    for (server, _database) in servers(|config| {
        config.http.trusted_proxies = vec!["127.0.0.1/32".parse().expect("it is a network")];
    })
    .await
    {
        let http = server.http;
        assert_eq!(sign_in_from(http, home, email, RIGHT, true).await, 200);
        server.services().sessions.flush().await.expect("the database answers");
        for address in 1..=6 {
            let address = format!("198.51.100.{address}");
            for _ in 0..5 {
                assert_eq!(sign_in_from(http, &address, email, "battery staple", false).await, 401);
            }
            assert_eq!(sign_in_from(http, &address, email, RIGHT, false).await, 429, "the guesser is locked out");
            assert_eq!(sign_in_from(http, home, email, RIGHT, false).await, 200, "the owner is not");
        }
        assert_eq!(sign_in_from(http, "192.0.2.1", email, RIGHT, false).await, 429, "30 guesses in an hour");
        assert_eq!(sign_in_from(http, "203.0.113.2", email, RIGHT, false).await, 429, "a new address");
        for _ in 0..5 {
            assert_eq!(sign_in_from(http, home, email, "battery staple", false).await, 401);
        }
        assert_eq!(sign_in_from(http, home, email, RIGHT, false).await, 429, "a known address is limited too");

        let mut sprays = tokio::task::JoinSet::new();
        for number in 0..40 {
            let email = format!("nobody-{number}@example.com");
            sprays.spawn(async move { sign_in_from(http, "192.0.2.77", &email, "battery staple", false).await });
        }
        let answers = sprays.join_all().await;
        assert_eq!(answers.iter().filter(|status| **status == 401).count(), 10, "{answers:?}");
        assert_eq!(answers.iter().filter(|status| **status == 429).count(), 30, "{answers:?}");
        server.stop().await;
    }
}
