//! Names that are longer than a game shows.

use aether_server::tokens::USERNAME_BYTES_MAX;
use aether_testkit_server::{JSON, TRANSPORTS, TestPlayer, TestServer};
use aether_wire::{Hello, ServerMessage, Snapshot};

/// Waits for a text in a field of a channel.
async fn field(player: &mut TestPlayer, channel: &str, field: &str) -> String {
    player
        .wait(field, |message| {
            let ServerMessage::Snapshot(Snapshot::Readable(snapshot)) = message else { return None };
            let mut entities = snapshot.features.get(channel)?.iter();
            let text = entities.find_map(|entity| entity.fields.0.get(field)?.as_str().map(str::to_owned));
            text.filter(|text| !text.is_empty())
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_name_of_an_account_is_shortened_and_not_refused() {
    let server = TestServer::start(|_| {}).await;
    // Each letter but the first two has a mark of its own.
    let name = format!("Oh{}", "o\u{308}".repeat(42));
    assert_eq!(name.len(), USERNAME_BYTES_MAX);
    for transport in TRANSPORTS {
        for (game, channel, name_field) in [("outpost", "presence", "name"), ("sandbox", "presence", "leader")] {
            let token = server.sign(|claims| claims.name = name.clone());
            let hello = Hello { token: Some(token), ..server.hello(game) };
            let mut player = server.join(transport, JSON, &hello).await;
            let shown = field(&mut player, channel, name_field).await;
            assert_eq!(shown, format!("Oh{}…", "o\u{308}".repeat(6)), "{game}");
        }
    }
    server.stop().await;
}
