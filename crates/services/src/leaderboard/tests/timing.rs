//! Timings. `cargo test --release -p aether-services timing -- --ignored --nocapture` prints them.

use super::*;
use std::time::Instant;

const RECORDS: u128 = 1_000_000;

/// Writes a board of a million records directly to the store.
async fn fill(fixture: &Fixture) {
    fixture.boards.create(Definition::new("board")).await.unwrap();
    let step = 10_000;
    for first in (0..RECORDS).step_by(step) {
        let filled = fixture.store.write(move |transaction| {
            for number in first..first + step as u128 {
                transaction.execute(
                    "INSERT INTO leaderboard_records (leaderboard_id, expiry, owner_id, username, score, subscore, \
                     num_score, created_at, updated_at) VALUES ('board', 0, ?1, 'someone', ?2, 0, 1, 0, 0)",
                    values![owner(number), (number % 77_777) as i64],
                )?;
            }
            Ok::<_, StoreError>(())
        });
        filled.await.unwrap();
    }
}

async fn per_call<F: Future<Output = ()>>(what: &str, calls: u32, call: impl Fn(u32) -> F) {
    let began = Instant::now();
    for number in 0..calls {
        call(number).await;
    }
    println!("  {what}: {:.1} us", began.elapsed().as_secs_f64() * 1e6 / f64::from(calls));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes a minute and prints timings"]
async fn a_million_records() {
    let file = aether_testkit_store::file();
    for database in std::iter::once(file).chain(aether_testkit_store::postgres()) {
        println!("{}", database.name);
        let fixture = Fixture::at(&database).await;
        fill(&fixture).await;
        let began = Instant::now();
        let fixture = fixture.reopened().await;
        println!("  start with 1,000,000 records: {:.0} ms", began.elapsed().as_secs_f64() * 1e3);
        let fixture = &fixture;
        let someone = |number: u32| owner(u128::from(number) * 1_001);
        per_call("write that is better", 500, |number| async move {
            fixture.submit("board", someone(number), 1_000_000 + i64::from(number)).await;
        })
        .await;
        per_call("write that is not", 500, |number| async move {
            fixture.submit("board", someone(number), -1).await;
        })
        .await;
        for size in [1, 10, 100, 1_000] {
            per_call(&format!("page of {size} by rank"), 100, |_| async move {
                fixture.boards.records("board", &[], &limit(size)).await.unwrap();
            })
            .await;
        }
        per_call("10 around an owner", 500, |number| async move {
            fixture.boards.records_around("board", someone(number), &limit(10)).await.unwrap();
        })
        .await;
    }
}
