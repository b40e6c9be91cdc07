//! Limits of durable rooms: running ones of an address, stored ones of an account.

use crate::support::ServerSetup;
use aether_testkit_server::seeing_player::{SeeingPlayer, account, hello, outpost};
use aether_testkit_server::{DEADLINE, Process};
use aether_testkit_store::{TestDatabase, file, postgres};
use aether_wire::{ClientMessage, CloseReason, ErrorCode, ErrorNotice, RoomSelector, Token};
use std::time::Duration;
use tokio::time::timeout;

/// Running rooms that one address may have created or opened on a public server.
const RUNNING_MAX: usize = 16;
/// Stored rooms that one account may create in this test.
const STORED_MAX: usize = 18;

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_opened_rooms_count_and_stored_rooms_are_limited() {
    check_limits(file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_opened_rooms_count_and_stored_rooms_are_limited() {
    if let Some(database) = postgres() {
        check_limits(database).await;
    }
}

async fn join(server: &Process, token: &Token, room: &RoomSelector) -> Result<SeeingPlayer, ErrorNotice> {
    SeeingPlayer::join(server.http, &hello(token.clone(), room.clone()), outpost()).await
}

/// Joins a room as soon as the limit of the address allows it: an unloaded room counts until its last write is done.
async fn join_when_free(server: &Process, token: &Token, room: &RoomSelector) -> Result<SeeingPlayer, ErrorNotice> {
    let joined = async {
        loop {
            match join(server, token, room).await {
                Err(notice) if notice.message.contains("your network") => {}
                outcome => return outcome,
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, joined).await.expect("unloaded rooms are not counted")
}

fn labelled(number: usize) -> RoomSelector {
    RoomSelector::Type { name: "outpost".to_owned(), label: Some(format!("room-{number}")) }
}

async fn leave(players: impl IntoIterator<Item = SeeingPlayer>) {
    for mut player in players {
        player.player.send(ClientMessage::Leave).await;
        assert_eq!(player.player.end().await.reason(), Some(CloseReason::Left));
    }
}

/// An address has at most 16 rooms, whether it created or opened them, and an account at most 18 stored ones.
async fn check_limits(database: TestDatabase) {
    let settings = [
        // A trusted proxy makes the server public. Without a header, all clients have the address of the proxy.
        "http.trusted_proxies=127.0.0.1/32".to_owned(),
        "connections.per_account_max=0".to_owned(),
        "rooms.empty_seconds=0".to_owned(),
        format!("rooms.stored_per_account_max={STORED_MAX}"),
    ];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let setup = ServerSetup::new(&database, &settings);
    let server = setup.serve().await;
    let (token, _) = account(server.http).await;
    let mut rooms: Vec<RoomSelector> = Vec::new();
    for first in [0, RUNNING_MAX] {
        let mut players = Vec::new();
        for number in first..STORED_MAX.min(first + RUNNING_MAX) {
            let player = join_when_free(&server, &token, &labelled(number)).await.expect("the room is created");
            rooms.push(RoomSelector::Id(player.player.welcome.room.clone()));
            players.push(player);
        }
        leave(players).await;
    }
    let beyond = join_when_free(&server, &token, &labelled(STORED_MAX)).await.err().expect("it is one too many");
    assert_eq!(beyond.code, ErrorCode::LimitReached, "the account has stored {STORED_MAX} rooms");
    assert!(beyond.message.contains("stored rooms"), "{}", beyond.message);
    let (other, _) = account(server.http).await;
    let player = join_when_free(&server, &other, &labelled(STORED_MAX)).await;
    leave([player.expect("the other account has stored none")]).await;

    let mut opened = Vec::new();
    for room in &rooms[..RUNNING_MAX] {
        opened.push(join_when_free(&server, &token, room).await.expect("the room is opened"));
    }
    for token in [&token, &other] {
        let woken = join(&server, token, &rooms[RUNNING_MAX]).await.err().expect("it is one too many");
        assert_eq!(woken.code, ErrorCode::LimitReached, "the address has opened {RUNNING_MAX} rooms");
        let running = join(&server, token, &rooms[0]).await;
        leave([running.expect("a running room can be joined")]).await;
    }
    leave(opened.pop()).await;
    let woken = join_when_free(&server, &token, &rooms[RUNNING_MAX]).await;
    leave([woken.expect("an unloaded room is not counted")]).await;
    server.kill().await;
}
