//! The game in a terminal of tmux, played with keys.

use crate::server;
use crate::tmux::{Screen, Tmux};

/// Returns the score on the screen.
fn score(text: &str) -> Option<u32> {
    let number = text.split_once("SCORE ")?.1.split_whitespace().next()?;
    number.replace(',', "").parse().ok()
}

fn play(screen: &Screen<'_>, name: &str, url: &str) {
    let program = env!("CARGO_BIN_EXE_aether-asteroids");
    screen.enter(&format!("'{program}' {name} --server {url}"));
    screen.until("the game", |text| score(text).is_some() && text.contains('▲') && text.contains("ping"));
}

/// Quits the game and checks that the terminal is as before.
fn quit(screen: &Screen<'_>, key: &str) {
    screen.press(&[key]);
    screen.until("the prompt", |text| text.trim_end().ends_with("ready>") && !text.contains("SCORE"));
    screen.enter("clear; stty -a");
    let settings = screen.until("the settings of the terminal", |text| text.contains("icanon"));
    assert!(!settings.contains("-icanon") && !settings.contains("-echo "), "{settings}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_score_points_players_see_each_other_and_quitting_restores_the_terminal() {
    let Some(tmux) = Tmux::new() else { return println!("skipped: tmux is not installed") };
    let server = server::start().await;
    let url = format!("http://{}", server.http);
    tokio::task::block_in_place(|| {
        let ann = tmux.open("ann", 80, 24);
        play(&ann, "Ann", &url);
        // The ship turns and fires, and after the end of a game the same keys start the next one.
        ann.until_pressing(&["Left", "Space"], "points", |text| score(text).is_some_and(|score| score > 0));
        let ben = tmux.open("ben", 200, 60);
        play(&ben, "Ben", &url);
        ann.until("Ben on Ann's screen", |text| text.contains("Ben"));
        let seen = ben.until("Ann on Ben's screen", |text| text.contains("Ann") && text.contains("PLAYERS"));
        assert!(seen.lines().all(|line| line.chars().count() <= 200), "{seen}");
        // The score of a player who leaves is on the leaderboard, from which the others get it.
        quit(&ann, "C-c");
        ben.until("Ann's high score", |text| !text.contains("Ann ▲") && text.contains("1 Ann "));
        quit(&ben, "q");
    });
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_server_the_screen_says_what_to_do() {
    let Some(tmux) = Tmux::new() else { return println!("skipped: tmux is not installed") };
    tokio::task::block_in_place(|| {
        let screen = tmux.open("cat", 80, 24);
        let program = env!("CARGO_BIN_EXE_aether-asteroids");
        // Port 1 on loopback has no listener.
        screen.enter(&format!("'{program}' Cat --server http://127.0.0.1:1"));
        screen.until("the remedy", |text| text.contains("cargo xtask run") && text.contains("aether serve"));
        quit(&screen, "q");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_scores_by_itself_and_survives_a_lost_server() {
    let Some(tmux) = Tmux::new() else { return println!("skipped: tmux is not installed") };
    let server = server::start().await;
    let url = format!("http://{}", server.http);
    let screen = tmux.open("bot", 100, 30);
    tokio::task::block_in_place(|| {
        let program = env!("CARGO_BIN_EXE_aether-asteroids");
        screen.enter(&format!("'{program}' Robot --bot --server {url}"));
        screen.until("points", |text| score(text).is_some_and(|score| score > 0));
    });
    server.stop().await;
    tokio::task::block_in_place(|| {
        let is_lost = |text: &str| text.contains("RECONNECTING") || text.contains("NO SERVER");
        screen.until("a notice of the lost connection", is_lost);
        quit(&screen, "q");
    });
}
