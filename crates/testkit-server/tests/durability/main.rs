//! Coins that were moved and acknowledged survive `kill -9` at any moment, and none is moved twice: a server under load is
//! killed and started again, and its wallets are then compared with what its clients wrote down. The test `program` of the
//! package `aether` does the same with objects, scores and accounts.

mod wallets;

use aether_server::services::clock::SystemClock;
use aether_server::services::wallet::Wallets;
use aether_testkit_server::durability::{CLIENTS, ServerFolder, Work, all, kill_later, rounds, settled, sum};
use aether_testkit_store::{TestDatabase, file, postgres};
use std::path::Path;
use std::sync::Arc;
use wallets::Payer;

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_wallets_conserve_what_is_in_them() {
    wallets_conserve(file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_wallets_conserve_what_is_in_them() {
    if let Some(database) = postgres() {
        wallets_conserve(database).await;
    }
}

async fn wallets_conserve(database: TestDatabase) {
    let place = ServerFolder::new(&database);
    let bank = Path::new(env!("CARGO_BIN_EXE_bank"));
    let server = place.serve(bank).await;
    let mut payers = wallets::open(server.http, CLIENTS * 2).await;
    server.kill().await;
    for round in 0..rounds() {
        let server = place.serve(bank).await;
        let address = server.http;
        let working = tokio::spawn(all(payers, move |payer: Payer| payer.work(address)));
        kill_later(server, round).await;
        payers = working.await.expect("clients do not fail");
        let store = settled(&database).await;
        wallets::compare(&Wallets::new(store.clone(), Arc::new(SystemClock)), &payers).await;
        store.close().await;
    }
    println!(
        "{}, {} kills: {} transfers were acknowledged; the wallets and their ledgers hold what they should",
        database.name,
        rounds(),
        sum(&payers)
    );
}
