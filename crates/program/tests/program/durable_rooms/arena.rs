//! What Arena keeps of its players, by the services.

use crate::support::Site;
use aether_arena_rules::{Blob, Label, Leaderboard, MASS_START, Paint, Pellet, Records, Steer};
use aether_replication::{DeliveryOrder, Mirror};
use aether_testkit_server::seat::{SeeingPlayer, account, hello, of_type};
use aether_testkit_server::{ApiClient, DEADLINE};
use aether_testkit_store::{TestDatabase, file, postgres};
use aether_wire::{ClientMessage, CloseReason, Token};
use serde_json::Value;
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_colour_and_best_are_kept_and_the_board_shows_them() {
    kept(file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_colour_and_best_are_kept_and_the_board_shows_them() {
    if let Some(database) = postgres() {
        kept(database).await;
    }
}

fn arena() -> Mirror {
    let builder = Mirror::builder().component::<Blob>().component::<Label>().component::<Pellet>();
    builder.component::<Leaderboard>().component::<Records>().build(DeliveryOrder::Ordered, 1.0 / 20.0)
}

/// The colour of a player's blobs.
fn hue(mirror: &Mirror, player: u32) -> Option<u8> {
    let mut labels = mirror.entities().filter_map(|entity| mirror.get::<Label>(entity));
    labels.find(|label| label.eater == player).map(|label| label.hue)
}

/// Steers until something holds of what is seen: whoever does not steer only watches.
async fn play_until<T>(seat: &mut SeeingPlayer, what: &str, look: impl Fn(&Mirror) -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look(&seat.mirror) {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain for {what}");
        seat.step(&Steer { aim: [0.25, 0.0], split: false }).await;
    }
}

/// Asks until there is an answer that is wanted.
async fn until<T>(client: &mut ApiClient, path: &str, wanted: impl Fn(&Value) -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        let answer = client.get(path).await.expect("it answers").json();
        if let Some(found) = wanted(&answer) {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain: {answer}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn kept(database: TestDatabase) {
    let site = Site::new(&database, &[]);
    let server = site.serve().await;
    let (token, mut client) = account(server.http).await;
    let name = until(&mut client, "/v2/account", |it| it["user"]["username"].as_str().map(str::to_owned)).await;
    let mut ann =
        SeeingPlayer::take(server.http, &hello(token, of_type("arena")), arena()).await.expect("she is let in");
    let player = ann.player.welcome.player.0;
    let by_chance = play_until(&mut ann, "her blob", |mirror| hue(mirror, player)).await;
    let chosen = by_chance.wrapping_add(101);
    ann.command(0, &Paint { hue: chosen }).await.expect("it is allowed");
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

    // Another server over the same database knows her.
    let server = site.serve().await;
    let token = Token::new(client.token.clone());
    let mut ann =
        SeeingPlayer::take(server.http, &hello(token, of_type("arena")), arena()).await.expect("she is let in");
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
