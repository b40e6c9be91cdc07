//! A database that was lost is not replaced by a new one.

use crate::support::program;
use aether_testkit_server::{DEADLINE, command};
use aether_testkit_store::file;
use std::process::Output;
use tokio::time::timeout;

async fn run(arguments: &[&str]) -> Output {
    timeout(DEADLINE, command(program(), arguments).output()).await.expect("it ends").expect("it runs")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_does_not_start_on_an_emptied_database() {
    let database = file();
    let aether_store::Database::File(path) = &database.database else { unreachable!() };
    let data = path.parent().and_then(|folder| folder.to_str()).expect("the path is UTF-8");
    let created = run(&["migrate", "--data-dir", data]).await;
    assert!(created.status.success(), "{created:?}");
    std::fs::write(path, "").expect("it can be emptied");
    let address = "127.0.0.1:0";
    let refused = run(&["serve", "--data-dir", data, "--address", address, "--admin-address", address]).await;
    assert!(!refused.status.success(), "{refused:?}");
    let sentence = String::from_utf8_lossy(&refused.stderr);
    assert!(sentence.contains("had content before") && sentence.contains("aether.db.created"), "{sentence}");
    assert_eq!(std::fs::metadata(path).expect("it is there").len(), 0, "nothing was created");
}
