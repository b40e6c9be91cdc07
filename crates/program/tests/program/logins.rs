//! Memory and processor time of logins.

use crate::support::program;
use aether_testkit_server::logins::{email, log_in, storm};
use aether_testkit_server::{ApiClient, Process};
use std::net::SocketAddr;
use std::time::Duration;
use uuid::Uuid;

/// Maximum growth of memory while a thousand passwords are checked.
const MEMORY_BYTES_MAX: u64 = 256 << 20;

async fn memory(admin: SocketAddr) -> u64 {
    let health = ApiClient::new(admin).get("/health").await.expect("the server answers").json();
    health["memoryBytes"].as_u64().expect("the answer has the memory")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_passwords_at_once_take_bounded_memory() {
    rlimit::increase_nofile_limit(8_192).expect("the limit can be raised");
    // In its own process, so that memory of other tests does not count.
    let folder = std::env::temp_dir().join(format!("aether-logins-{}", Uuid::new_v4().simple()));
    let server = Process::serve(program(), &folder, &["database.url=memory", "log.filter=warn"]).await;
    let before = memory(server.admin).await;
    let memory_exceeded = async {
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
        now = memory_exceeded => panic!("{} MiB, before {}", now >> 20, before >> 20),
    };
    assert!(statuses.keys().all(|status| [401, 429].contains(status)), "{statuses:?}");
    assert!(statuses.contains_key(&429), "{statuses:?}");
    server.kill().await;
    let _ = std::fs::remove_dir_all(&folder);
    let _ = std::fs::remove_file(folder.with_extension("log"));
}

/// Returns the processor time of all threads of a process, in nanoseconds.
fn processor_nanos(process: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("the process runs");
    let of_thread = |thread: std::fs::DirEntry| {
        // A thread may end before it is read. The first number is the time on a processor.
        let times = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        times.split_whitespace().next()?.parse::<u64>().ok()
    };
    threads.flatten().filter_map(of_thread).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_do_not_reveal_whether_an_account_exists() {
    const PAIRS: usize = 12;
    let folder = std::env::temp_dir().join(format!("aether-logins-{}", Uuid::new_v4().simple()));
    // Behind a proxy, so that each attempt has another address: a single one would exceed its rate limit.
    let settings = ["database.url=memory", "log.filter=warn", "http.trusted_proxies=127.0.0.1"];
    let server = Process::serve(program(), &folder, &settings).await;
    let process = server.child.id().expect("the server runs");
    let from = |number: usize| {
        ApiClient::new(server.http).with_header("x-forwarded-for", format!("198.{}.100.1", 20 + number))
    };
    let (mut known, mut unknown) = (0, 0);
    for number in 0..PAIRS {
        let existing = email();
        assert_eq!(log_in(&mut from(3 * number), &existing, "correct horse", true).await.status, 200);
        for (nanos, address, number) in
            [(&mut known, existing, 3 * number + 1), (&mut unknown, email(), 3 * number + 2)]
        {
            let mut client = from(number);
            assert_eq!(client.get("/healthcheck").await.expect("the server answers").status, 200);
            // Processor time, because wall-clock time depends on the other load of the machine.
            let before = processor_nanos(process);
            let answer = log_in(&mut client, &address, "correct house", false).await;
            *nanos += processor_nanos(process) - before;
            assert_eq!(answer.status, 401, "{}", answer.body);
            assert_eq!(answer.body, r#"{"code":16,"message":"Invalid credentials."}"#);
            assert!(answer.head.contains("www-authenticate: invalid credentials."), "{}", answer.head);
        }
    }
    println!("known {known} ns, unknown {unknown} ns");
    let ratio = known.max(unknown) as f64 / known.min(unknown) as f64;
    assert!(ratio < 1.5, "known accounts took {known} ns of the processor, unknown ones {unknown} ns");
    server.kill().await;
    let _ = std::fs::remove_dir_all(&folder);
    let _ = std::fs::remove_file(folder.with_extension("log"));
}
