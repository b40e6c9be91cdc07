//! Logins: too large and too many.

use aether_testkit_server::logins::{email, log_in, storm};
use aether_testkit_server::{ApiClient, TestServer};
use serde_json::json;
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
