//! Acknowledged writes survive `kill -9` at any moment, and nothing is done twice: the real program under load is
//! killed and started again, and what it then knows is compared with what its clients wrote down.
//!
//! `DURABILITY_ROUNDS` says how often; `cargo xtask durability --rounds 20` sets it.

mod accounts;
mod leaderboards;
mod storage;

use crate::support::program;
use accounts::Newcomers;
use aether_testkit_server::durability::{CLIENTS, ServerFolder, Work, all, kill_later, rounds, settled, sum};
use aether_testkit_store::{TestDatabase, file, postgres};
use leaderboards::Scorer;
use storage::Writer;

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_what_was_acknowledged_survives_a_kill() {
    nothing_is_lost_or_doubled(file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_what_was_acknowledged_survives_a_kill() {
    if let Some(database) = postgres() {
        nothing_is_lost_or_doubled(database).await;
    }
}

async fn nothing_is_lost_or_doubled(database: TestDatabase) {
    let place = ServerFolder::new(&database);
    let mut writers: Vec<Writer> = (0..CLIENTS).map(|_| Writer::default()).collect();
    // All of them add to one record, beside one of each.
    let shared = Scorer::shared();
    let mut scorers: Vec<Scorer> = (0..CLIENTS).flat_map(|_| [Scorer::alone(), shared.clone()]).collect();
    let mut newcomers: Vec<Newcomers> = (0..CLIENTS).map(|_| Newcomers::default()).collect();
    for round in 0..rounds() {
        let server = place.serve(program()).await;
        writers = all(writers, |writer| writer.compare(server.http)).await;
        scorers = all(scorers, |scorer| scorer.compare(server.http)).await;
        newcomers = all(newcomers, |newcomers| newcomers.compare(server.http)).await;
        let address = server.http;
        let working = tokio::spawn(async move {
            tokio::join!(
                all(writers, move |writer| writer.work(address)),
                all(scorers, move |scorer| scorer.work(address)),
                all(newcomers, move |newcomers| newcomers.work(address)),
            )
        });
        kill_later(server, round).await;
        (writers, scorers, newcomers) = working.await.expect("clients do not fail");
        settled(&database).await.close().await;
    }
    let server = place.serve(program()).await;
    let writers = all(writers, |writer| writer.compare(server.http)).await;
    let scorers = all(scorers, |scorer| scorer.compare(server.http)).await;
    let newcomers = all(newcomers, |newcomers| newcomers.compare_all(server.http)).await;
    server.kill().await;
    println!(
        "{}, {} kills: {} writes of objects, {} scores and {} new accounts were acknowledged; none is missing or doubled",
        database.name,
        rounds(),
        sum(&writers),
        sum(&scorers),
        sum(&newcomers)
    );
}
