//! Logins: too large, too many, and those that would like to know who has an account.

use aether_testkit_server::{Answer, ApiClient, Process, TestServer, program};
use serde_json::json;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use uuid::Uuid;

const LOGINS: usize = 1_000;
/// Connections that are being opened at a time: the system's queue for them is bounded.
const OPENING_AT_ONCE: usize = 100;
/// Memory beyond that of before, while a thousand passwords are to be checked.
const MEMORY_BYTES_MAX: u64 = 256 << 20;

fn email() -> String {
    format!("{}@example.com", Uuid::new_v4())
}

async fn log_in(client: &mut ApiClient, email: &str, password: &str, create: bool) -> Answer {
    let path = format!("/v2/account/authenticate/email?create={create}");
    client.post(&path, &json!({ "email": email, "password": password })).await.expect("the server answers")
}

/// As many logins as that at once, by status.
async fn storm(server: SocketAddr, password: &'static str) -> BTreeMap<u16, usize> {
    let opening = Arc::new(Semaphore::new(OPENING_AT_ONCE));
    let mut logins = JoinSet::new();
    for _ in 0..LOGINS {
        let opening = Arc::clone(&opening);
        logins.spawn(async move {
            let mut client = ApiClient::new(server);
            let open = opening.acquire().await.expect("it is never closed");
            assert_eq!(client.get("/healthcheck").await.expect("the server answers").status, 200);
            drop(open);
            log_in(&mut client, &email(), password, false).await
        });
    }
    let mut statuses = BTreeMap::new();
    for answer in logins.join_all().await {
        *statuses.entry(answer.status).or_default() += 1;
        if answer.status == 429 {
            assert_eq!(answer.json()["code"], 8, "{}", answer.body);
        }
    }
    statuses
}

async fn memory(admin: SocketAddr) -> u64 {
    let health = ApiClient::new(admin).get("/health").await.expect("the server answers").json();
    health["memoryBytes"].as_u64().expect("it is told")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_of_a_megabyte_is_refused_at_once() {
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
async fn of_a_thousand_logins_at_once_a_network_gets_what_it_may_and_the_rest_is_told() {
    rlimit::increase_nofile_limit(8_192).expect("the limit can be raised");
    let server = TestServer::start(|config| {
        config.api.logins_per_second = Some(5);
        config.api.logins_burst = 20;
    })
    .await;
    let statuses = storm(server.http, "correct horse").await;
    assert!(statuses.keys().all(|status| [401, 429].contains(status)), "{statuses:?}");
    assert!(statuses[&429] > 900, "{statuses:?}");
    // Device logins have the same budget, and it fills up again.
    let mut client = ApiClient::new(server.http);
    let end = Instant::now() + Duration::from_secs(10);
    let device = json!({ "id": format!("device-{}", Uuid::new_v4()) });
    while client.post("/v2/account/authenticate/device", &device).await.expect("the server answers").status == 429 {
        assert!(Instant::now() < end, "time does not heal");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_passwords_at_once_take_bounded_memory() {
    rlimit::increase_nofile_limit(8_192).expect("the limit can be raised");
    // A process of its own, so that its memory is not that of other tests.
    let folder = std::env::temp_dir().join(format!("aether-logins-{}", Uuid::new_v4().simple()));
    let server = Process::serve(program(), &folder, &["database.url=memory", "log.filter=warn"]).await;
    let before = memory(server.admin).await;
    let watch = async {
        loop {
            let now = memory(server.admin).await;
            if now > before + MEMORY_BYTES_MAX {
                break now;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let statuses = tokio::select! {
        statuses = storm(server.http, "correct horse") => statuses,
        now = watch => panic!("{} MiB, before {}", now >> 20, before >> 20),
    };
    assert!(statuses.keys().all(|status| [401, 429].contains(status)), "{statuses:?}");
    assert!(statuses.contains_key(&429), "{statuses:?}");
    server.kill().await;
    let _ = std::fs::remove_dir_all(&folder);
    let _ = std::fs::remove_file(folder.with_extension("log"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_learns_from_an_answer_whether_there_is_an_account() {
    // Behind a proxy, so that each attempt is from another address: one alone would soon be refused.
    let server = TestServer::start(|config| {
        config.http.trusted_proxies = vec!["127.0.0.1".parse().expect("it is an address")];
    })
    .await;
    let from = |number: usize| {
        ApiClient::new(server.http).with_header("x-forwarded-for", format!("198.{}.100.1", 20 + number))
    };
    const PAIRS: usize = 12;
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for number in 0..PAIRS {
        let existing = email();
        assert_eq!(log_in(&mut from(3 * number), &existing, "correct horse", true).await.status, 200);
        for (times, address, number) in
            [(&mut known, existing, 3 * number + 1), (&mut unknown, email(), 3 * number + 2)]
        {
            let mut client = from(number);
            assert_eq!(client.get("/healthcheck").await.expect("the server answers").status, 200);
            let began = Instant::now();
            let answer = log_in(&mut client, &address, "correct house", false).await;
            times.push(began.elapsed());
            let head: Vec<&str> = answer.head.lines().filter(|line| !line.starts_with("date:")).collect();
            let told = (answer.status, answer.body.as_str(), head);
            assert_eq!(told.0, 401, "{}", told.1);
            assert_eq!(told.1, r#"{"code":16,"message":"Invalid credentials."}"#);
            assert!(told.2.contains(&"www-authenticate: invalid credentials."), "{:?}", told.2);
        }
    }
    let (known, unknown) = (median(known), median(unknown));
    let ratio = known.max(unknown).as_secs_f64() / known.min(unknown).as_secs_f64();
    println!("known {known:?}, unknown {unknown:?}");
    assert!(ratio < 1.5, "known accounts answer in {known:?}, unknown ones in {unknown:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_are_cut_off_by_account_and_by_address() {
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
    assert_eq!(right.status, 429, "or a guess would still be worth it");
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

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
