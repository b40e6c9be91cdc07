//! A bot without a terminal.

use crate::server;
use crate::tmux::DataFolder;
use aether_testkit_server::command;
use std::path::Path;

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_aether-asteroids"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_plays_and_prints_its_result() {
    let server = server::start().await;
    let folder = DataFolder::new();
    let url = format!("http://{}", server.http);
    for transport in ["udp", "webtransport", "websocket"] {
        let arguments = ["Robot", "--server", &url, "--bot", "--headless", "--seconds", "2", "--transport", transport];
        let output = command(program(), &arguments).env("XDG_DATA_HOME", folder.path()).output().await;
        let output = output.expect("the program starts");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{output:?}");
        assert!(text.starts_with("best score ") && text.trim_end().ends_with(transport), "{text}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_of_another_device_is_refused_with_a_reason() {
    let server = server::start().await;
    let url = format!("http://{}", server.http);
    let arguments = ["Robot", "--server", &url, "--bot", "--headless", "--seconds", "1"];
    let [first, second] = [DataFolder::new(), DataFolder::new()];
    let run = async |folder: &DataFolder| {
        command(program(), &arguments).env("XDG_DATA_HOME", folder.path()).output().await.expect("the program starts")
    };
    assert!(run(&first).await.status.success());
    let refused = run(&second).await;
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && text.contains("belongs to another player"), "{text}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_the_client_says_what_to_do() {
    let folder = DataFolder::new();
    let output = command(program(), &["Ann"]).env("XDG_DATA_HOME", folder.path()).output().await;
    let output = output.expect("the program starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("--bot --headless"), "{text}");
}
