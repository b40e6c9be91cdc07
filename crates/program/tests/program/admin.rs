//! `aether admin` as a process of its own, beside a running server.

use crate::support::program;
use aether_testkit_server::{ApiClient, DEADLINE, Process, command};
use std::process::Output;
use tokio::time::timeout;

async fn run(server: &Process, folder: &str, action: &[&str]) -> Output {
    let address = server.admin.to_string();
    let arguments = [&["admin"], action, &["--data-dir", folder, "--admin-address", &address]].concat();
    timeout(DEADLINE, command(program(), &arguments).output()).await.expect("it ends").expect("it runs")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_gives_a_role_and_bans_with_the_key_of_the_data_folder() {
    let path = std::env::temp_dir().join(format!("aether-admin-{}", uuid::Uuid::new_v4().simple()));
    let folder = path.to_str().expect("the path is UTF-8");
    let server = Process::serve(program(), &path, &["log.filter=warn", "database.url=memory"]).await;
    let user = ApiClient::new_user(server.http).await;
    let given = run(&server, folder, &["role", &user.user, "read-only"]).await;
    assert!(given.status.success(), "{given:?}");
    assert!(String::from_utf8_lossy(&given.stdout).contains("role\tread-only\n"), "{given:?}");
    let banned = run(&server, folder, &["ban", &user.user]).await;
    assert!(String::from_utf8_lossy(&banned.stdout).contains("banned\ttrue\n"), "{banned:?}");
    let missing = run(&server, folder, &["show", "nobody"]).await;
    assert_eq!(missing.status.code(), Some(1));
    let error = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert_eq!(error, "Player nobody was not found; use the id or the exact username.\n");
    let elsewhere = run(&server, "/nowhere", &["show", &user.user]).await;
    assert!(String::from_utf8_lossy(&elsewhere.stderr).contains("There is no admin key"), "{elsewhere:?}");
    server.kill().await;
    let _ = std::fs::remove_dir_all(&path);
    let _ = std::fs::remove_file(path.with_extension("log"));
}
