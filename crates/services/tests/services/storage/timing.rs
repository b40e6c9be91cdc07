//! Costs of a write and a read.
//!
//! `cargo test --release -p aether-services --test services storage::timing -- --ignored --nocapture`

use crate::fixture::Fixture;
use crate::objects::{by, id, write};
use aether_metrics::Registry;
use aether_store::{Store, StoreSettings};
use std::time::Instant;
use tokio::task::JoinSet;
use uuid::Uuid;

/// Number of concurrent callers, and number of calls of all together.
const LOADS: [(usize, usize); 2] = [(1, 2_000), (50, 20_000)];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures, and takes a while"]
async fn microseconds_of_a_single_write_and_read() {
    let (memory, file) = (aether_testkit_store::memory(), aether_testkit_store::file());
    for database in [Some(memory), Some(file), aether_testkit_store::postgres()].into_iter().flatten() {
        let settings = StoreSettings::new(database.database.clone());
        let store = Store::open(&settings, &Registry::new()).await.expect("it can be opened");
        let fixture = Fixture::over(store, database);
        let mut users = Vec::new();
        for _ in 0..1_000 {
            users.push(fixture.user().await);
        }
        for (callers, calls) in LOADS {
            for kind in ["write", "read"] {
                let began = Instant::now();
                call(&fixture, &users, kind, (callers, calls)).await;
                let each = began.elapsed().as_secs_f64() * 1e6 / calls as f64;
                println!("{} {kind}, {callers} at once: {each:.1} µs each, {:.0} a second", fixture.name, 1e6 / each);
            }
        }
    }
}

async fn call(fixture: &Fixture, users: &[Uuid], kind: &'static str, (callers, calls): (usize, usize)) {
    let mut tasks = JoinSet::new();
    for caller in 0..callers {
        let (storage, users) = (fixture.storage(), users.to_vec());
        tasks.spawn(async move {
            for number in 0..calls / callers {
                let user = users[(caller * 7 + number * 13) % users.len()];
                if kind == "write" {
                    let value = format!(r#"{{"level":{number},"items":["sword","shield"],"x":{caller}}}"#);
                    let written = storage.write(&by(user), vec![write("saves", "slot", user, &value)]).await;
                    assert!(written.is_ok());
                } else {
                    assert!(storage.read(&by(user), vec![id("saves", "slot", user)]).await.is_ok());
                }
            }
        });
    }
    tasks.join_all().await;
}
