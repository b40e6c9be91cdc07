//! Runs the walker against a server of its own.

use aether::prelude::*;
use aether::server::config::Config;
use aether_outpost_server::Outpost;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::process::Command;

/// Longest wait for any step.
const DEADLINE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_walker_joins_walks_and_leaves() {
    let folder = std::env::temp_dir().join(format!("walker-{}", std::process::id()));
    let mut config = Config::default();
    config.data_dir = folder.clone();
    config.http.address = SocketAddr::from(([127, 0, 0, 1], 0));
    config.http.admin_address = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::new("walker-test", "0.1.0").game(
        aether_outpost_server::NAME,
        aether_outpost_server::settings(),
        Outpost::default,
    );
    let running = server.start(config).await.expect("the server starts");

    let address = format!("http://{}", running.http);
    let mut command = Command::new(env!("CARGO_BIN_EXE_walker"));
    let output = command.args([&address, "3"]).kill_on_drop(true).output();
    let output = tokio::time::timeout(DEADLINE, output).await.expect("it ends in time").expect("it starts");
    let output_text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output_text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output_text.contains("over udp"), "{output_text}");
    let seen: Vec<&str> = output_text.lines().filter(|line| line.starts_with("at ")).collect();
    assert!(seen.len() > 1 && seen.iter().any(|line| *line != seen[0]), "it walks: {output_text}");

    tokio::time::timeout(DEADLINE, running.stop(Duration::ZERO)).await.expect("the server stops");
    std::fs::remove_dir_all(folder).expect("the folder is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_walker_with_a_bad_address_prints_an_error() {
    let output = Command::new(env!("CARGO_BIN_EXE_walker")).arg("nowhere").kill_on_drop(true).output();
    let output = tokio::time::timeout(DEADLINE, output).await.expect("it ends in time").expect("it starts");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("not of the form"), "{output:?}");
}
