//! Player data of Arena, stored by the services.

use crate::support::{ServerSetup, until_metric};
use aether_arena_rules::{Blob, Label, Leaderboard, MASS_START, Paint, Pellet, Records, Steer};
use aether_replication::{DeliveryOrder, Mirror};
use aether_testkit_server::seeing_player::{SeeingPlayer, account, hello, of_type};
use aether_testkit_server::{ApiClient, DEADLINE};
use aether_testkit_store::{TestDatabase, file, postgres};
use aether_wire::{ClientMessage, CloseReason, Token};
use serde_json::Value;
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_colour_and_best_mass_are_stored_and_listed() {
    check_stored_data(file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_colour_and_best_mass_are_stored_and_listed() {
    if let Some(database) = postgres() {
        check_stored_data(database).await;
    }
}

fn arena() -> Mirror {
    let builder = Mirror::builder().component::<Blob>().component::<Label>().component::<Pellet>();
    builder.component::<Leaderboard>().component::<Records>().build(DeliveryOrder::Ordered, 1.0 / 20.0)
}

/// Returns the colour of a player's blobs.
fn hue(mirror: &Mirror, player: u32) -> Option<u8> {
    let mut labels = mirror.entities().filter_map(|entity| mirror.get::<Label>(entity));
    labels.find(|label| label.eater == player).map(|label| label.hue)
}

/// Steers until `look` returns a value. A player that does not steer only spectates.
async fn play_until<T>(player: &mut SeeingPlayer, what: &str, look: impl Fn(&Mirror) -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look(&player.mirror) {
            return found;
        }
        assert!(Instant::now() < end, "timeout while waiting for {what}");
        player.step(&Steer { aim: [0.25, 0.0], split: false }).await;
    }
}

/// Repeats a request until `wanted` returns a value.
async fn until<T>(client: &mut ApiClient, path: &str, wanted: impl Fn(&Value) -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        let answer = client.get(path).await.expect("the server answers").json();
        if let Some(found) = wanted(&answer) {
            return found;
        }
        assert!(Instant::now() < end, "timeout: {answer}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn check_stored_data(database: TestDatabase) {
    let setup = ServerSetup::new(&database, &[]);
    let server = setup.serve().await;
    let (token, mut client) = account(server.http).await;
    let name = until(&mut client, "/v2/account", |it| it["user"]["username"].as_str().map(str::to_owned)).await;
    let mut ann =
        SeeingPlayer::join(server.http, &hello(token, of_type("arena")), arena()).await.expect("the join is accepted");
    let player = ann.player.welcome.player.0;
    let by_chance = play_until(&mut ann, "her blob", |mirror| hue(mirror, player)).await;
    let chosen = by_chance.wrapping_add(101);
    ann.command(0, &Paint { hue: chosen }).await.expect("the command is accepted");
    play_until(&mut ann, "the new colour", |mirror| (hue(mirror, player) == Some(chosen)).then_some(())).await;
    ann.player.send(ClientMessage::Leave).await;
    assert_eq!(ann.player.end().await.reason(), Some(CloseReason::Left));
    let board = format!("/v2/leaderboard/arena?owner_ids={}", client.user);
    let best = until(&mut client, &board, |list| list["owner_records"][0]["score"].as_str()?.parse::<u32>().ok()).await;
    assert!(best >= MASS_START, "{best}");
    let profiles = format!("/v2/storage/arena/{}", client.user);
    let object = until(&mut client, &profiles, |list| list["objects"].get(0).cloned()).await;
    assert_eq!(object["key"], "profile");
    server.kill().await;

    // Another server on the same database has her data.
    let server = setup.serve().await;
    let token = Token::new(client.token.clone());
    let mut ann =
        SeeingPlayer::join(server.http, &hello(token, of_type("arena")), arena()).await.expect("the join is accepted");
    let player = ann.player.welcome.player.0;
    play_until(&mut ann, "her colour", |mirror| (hue(mirror, player) == Some(chosen)).then_some(())).await;
    let row = ann
        .until("her record", |mirror| {
            let boards = mirror.entities().filter_map(|entity| mirror.get::<Records>(entity));
            boards.flat_map(|board| board.rows.clone()).find(|row| name.starts_with(&row.name))
        })
        .await;
    assert_eq!(row.mass, best);
    server.kill().await;
}

/// The state of several ticks may arrive before the answer to a command, and later state is made from it.
#[tokio::test(flavor = "multi_thread")]
async fn state_that_arrives_before_an_answer_is_not_lost() {
    let setup = ServerSetup::new(&file(), &[]);
    let server = setup.serve().await;
    let (token, _) = account(server.http).await;
    let mut ann =
        SeeingPlayer::join(server.http, &hello(token, of_type("arena")), arena()).await.expect("the join is accepted");
    // Most messages of a room are state packets.
    until_metric(&server, "aether_messages_sent_total", 20.0).await;
    ann.command(0, &Paint { hue: 7 }).await.expect("the command is accepted");
    assert!(ann.mirror.entities().next().is_some(), "the state before the answer is in the mirror");
    let player = ann.player.welcome.player.0;
    play_until(&mut ann, "her blob", |mirror| hue(mirror, player)).await;
    server.kill().await;
}
