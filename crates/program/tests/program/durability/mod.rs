//! Acknowledged writes survive `kill -9` at any moment, and none is done twice. The program under load is killed and
//! restarted, and its data is compared with the records of its clients.
//!
//! `DURABILITY_ROUNDS` is the number of kills; `cargo xtask durability --rounds 20` sets it.

mod accounts;
mod chat;
mod groups;
mod leaderboards;
mod storage;

use crate::support::program;
use accounts::AccountCreator;
use aether_testkit_server::durability::{
    CLIENTS, ServerFolder, Work, kill_later, open_settled, rounds, run_all, total_acknowledged,
};
use aether_testkit_store::{TestDatabase, file, postgres};
use chat::Talker;
use groups::{Member, Superadmin};
use leaderboards::Scorer;
use storage::Writer;

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_acknowledged_writes_survive_a_kill() {
    check_acknowledged(file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_acknowledged_writes_survive_a_kill() {
    if let Some(database) = postgres() {
        check_acknowledged(database).await;
    }
}

async fn check_acknowledged(database: TestDatabase) {
    let folder = ServerFolder::new(&database);
    let mut writers: Vec<Writer> = (0..CLIENTS).map(|_| Writer::default()).collect();
    // Each client adds to its own record, and all add to a shared one.
    let shared = Scorer::shared();
    let mut scorers: Vec<Scorer> = (0..CLIENTS).flat_map(|_| [Scorer::alone(), shared.clone()]).collect();
    let mut creators: Vec<AccountCreator> = (0..CLIENTS).map(|_| AccountCreator::default()).collect();
    let mut talkers: Vec<Talker> = (0..CLIENTS).map(|_| Talker::default()).collect();
    for round in 0..rounds() {
        let server = folder.serve(program()).await;
        writers = run_all(writers, |writer| writer.compare(server.http)).await;
        scorers = run_all(scorers, |scorer| scorer.compare(server.http)).await;
        creators = run_all(creators, |creators| creators.compare(server.http)).await;
        talkers = run_all(talkers, |talker| talker.compare(server.http)).await;
        let address = server.http;
        let working = tokio::spawn(async move {
            tokio::join!(
                run_all(writers, move |writer| writer.work(address)),
                run_all(scorers, move |scorer| scorer.work(address)),
                run_all(creators, move |creators| creators.work(address)),
                run_all(talkers, move |talker| talker.work(address)),
            )
        });
        kill_later(server, round).await;
        (writers, scorers, creators, talkers) = working.await.expect("clients do not panic");
        open_settled(&database).await.close().await;
    }
    let server = folder.serve(program()).await;
    let writers = run_all(writers, |writer| writer.compare(server.http)).await;
    let scorers = run_all(scorers, |scorer| scorer.compare(server.http)).await;
    let creators = run_all(creators, |creators| creators.compare_all(server.http)).await;
    let talkers = run_all(talkers, |talker| talker.compare(server.http)).await;
    server.kill().await;
    println!(
        "{}, {} kills: {} writes of objects, {} scores, {} new accounts and {} chat messages were acknowledged; none is \
         missing or doubled",
        database.name,
        rounds(),
        total_acknowledged(&writers),
        total_acknowledged(&scorers),
        total_acknowledged(&creators),
        total_acknowledged(&talkers)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_acknowledged_changes_of_groups_survive_a_kill() {
    check_groups(file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_acknowledged_changes_of_groups_survive_a_kill() {
    if let Some(database) = postgres() {
        check_groups(database).await;
    }
}

async fn check_groups(database: TestDatabase) {
    let folder = ServerFolder::new(&database);
    let (mut superadmins, mut members): (Vec<Superadmin>, Vec<Member>) = (Vec::new(), Vec::new());
    for round in 0..rounds() {
        let server = folder.serve(program()).await;
        if round == 0 {
            let superadmin = Superadmin::new(server.http).await;
            members = (0..CLIENTS).map(|_| superadmin.member()).collect();
            superadmins.push(superadmin);
        }
        members = run_all(members, |member| member.compare(server.http)).await;
        superadmins = run_all(superadmins, |superadmin| superadmin.compare(server.http)).await;
        let address = server.http;
        let working = tokio::spawn(async move {
            tokio::join!(
                run_all(superadmins, move |superadmin| superadmin.work(address)),
                run_all(members, move |member| member.work(address)),
            )
        });
        kill_later(server, round).await;
        (superadmins, members) = working.await.expect("clients do not panic");
        open_settled(&database).await.close().await;
    }
    let server = folder.serve(program()).await;
    let members = run_all(members, |member| member.compare(server.http)).await;
    let superadmins = run_all(superadmins, |superadmin| superadmin.compare(server.http)).await;
    server.kill().await;
    println!(
        "{}, {} kills: {} joins and leaves and {} changes of a role were acknowledged; none is missing",
        database.name,
        rounds(),
        total_acknowledged(&members),
        total_acknowledged(&superadmins)
    );
}
