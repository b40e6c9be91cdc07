//! Acknowledged transfers of coins survive `kill -9` at any moment, and none is done twice. A server under load is killed and
//! restarted, and its wallets are compared with the records of its clients. The test `program` of the package `aether` does
//! the same with objects, scores and accounts.

mod game_program;
mod wallets;

use aether_server::services::clock::SystemClock;
use aether_server::services::wallet::Wallets;
use aether_testkit_server::durability::{
    CLIENTS, ServerFolder, Work, kill_later, open_settled, rounds, run_all, total_acknowledged,
};
use aether_testkit_store::{TestDatabase, file, postgres};
use std::path::Path;
use std::sync::Arc;
use wallets::Payer;

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_no_coins_are_lost_or_created() {
    check_wallets(file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_no_coins_are_lost_or_created() {
    if let Some(database) = postgres() {
        check_wallets(database).await;
    }
}

async fn check_wallets(database: TestDatabase) {
    let folder = ServerFolder::new(&database);
    let bank = Path::new(env!("CARGO_BIN_EXE_bank"));
    let server = folder.serve(bank).await;
    let mut payers = wallets::open(server.http, CLIENTS * 2).await;
    server.kill().await;
    for round in 0..rounds() {
        let server = folder.serve(bank).await;
        let address = server.http;
        let working = tokio::spawn(run_all(payers, move |payer: Payer| payer.work(address)));
        kill_later(server, round).await;
        payers = working.await.expect("clients do not panic");
        let store = open_settled(&database).await;
        wallets::compare(&Wallets::new(store.clone(), Arc::new(SystemClock)), &payers).await;
        store.close().await;
    }
    println!(
        "{}, {} kills: {} transfers were acknowledged; wallets and ledgers are correct",
        database.name,
        rounds(),
        total_acknowledged(&payers)
    );
}
