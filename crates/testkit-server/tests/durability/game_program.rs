//! A game program has the commands, the start page and the load tool of the library, for its own room types.

use aether_testkit_server::durability::ServerFolder;
use aether_testkit_server::{ApiClient, DEADLINE, command};
use aether_testkit_store::memory;
use std::path::Path;
use std::process::Output;
use tokio::time::timeout;

fn bank() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_bank"))
}

async fn run(arguments: &[&str]) -> (Output, String) {
    let output = command(bank(), arguments).output();
    let output = timeout(DEADLINE, output).await.expect("the command ends").expect("the program runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_program_prints_its_name_and_version() {
    for flag in ["-V", "--version"] {
        let (output, text) = run(&[flag]).await;
        assert!(output.status.success(), "{output:?}");
        assert_eq!(text, format!("bank {}\n", env!("CARGO_PKG_VERSION")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_program_runs_bots_in_its_own_room_type() {
    let folder = ServerFolder::new(&memory());
    let server = folder.serve(bank()).await;
    let address = format!("http://{}", server.http);
    let common = ["load", "--quiet", "--json", "--bots", "4", "--per-room", "2", "--seconds", "1"];
    let (output, text) = run(&[&common[..], &["--address", &address]].concat()).await;
    assert!(output.status.success(), "{output:?}");
    let report: serde_json::Value = serde_json::from_str(&text).expect("the report is JSON");
    assert_eq!((&report["roomType"], &report["connected"]), (&"tellers".into(), &4.into()), "{report}");
    assert_eq!(report["play"], "messages", "{report}");
    let (missing, text) = run(&[&common[..], &["--room-type", "x", "--address", &address]].concat()).await;
    assert!(!missing.status.success() && text.contains("room_not_found"), "there is no room type x: {text}");
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_program_shows_its_room_types_and_not_the_built_in_games() {
    let folder = ServerFolder::new(&memory());
    let server = folder.serve(bank()).await;
    let page = ApiClient::new(server.http).get("/").await.expect("the server answers");
    assert_eq!(page.status, 200, "{}", page.body);
    let version = format!("version {}", env!("CARGO_PKG_VERSION"));
    for part in ["<h1>bank</h1>", &version, "<th scope=\"row\">tellers</th>"] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    for game in ["sandbox", "arena", "outpost"] {
        assert!(!page.body.to_lowercase().contains(game), "{game}: {}", page.body);
    }
    server.kill().await;
}
