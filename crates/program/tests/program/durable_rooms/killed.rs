//! A killed and restarted server has its rooms, their players and all confirmed commands.

use crate::support::{ServerSetup, metric, until_metric};
use aether_outpost_rules::{Cell, Controls, Kind, Place, SPEED, Structure};
use aether_testkit_server::DEADLINE;
use aether_testkit_server::seeing_player::{SeeingPlayer, account, guest, hello, of_type, outpost};
use aether_testkit_store::{TestDatabase, file, postgres};
use aether_wire::{ClientMessage, ErrorCode, Hello, Ping, RoomSelector, ServerMessage};
use tokio::process::Command;
use tokio::time::timeout;

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_a_room_is_rebuilt_after_a_kill() {
    check_rebuild(file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_a_room_is_rebuilt_after_a_kill() {
    if let Some(database) = postgres() {
        check_rebuild(database).await;
    }
}

/// Walks outwards for some ticks, then stops.
async fn walk(player: &mut SeeingPlayer, from: [f32; 2]) {
    let length = (from[0] * from[0] + from[1] * from[1]).sqrt();
    let push = [from[0] / length, from[1] / length];
    for _ in 0..15 {
        player.step(&Controls { push, ..Controls::default() }).await;
    }
    for _ in 0..5 {
        player.step(&Controls::default()).await;
    }
}

/// Returns the cell at a distance outwards of a position.
fn outwards([x, y]: [f32; 2], distance: f32) -> Cell {
    let scale = 1.0 + distance / (x * x + y * y).sqrt();
    Cell::at([x * scale, y * scale]).expect("the cell is inside the map")
}

fn distance(a: [f32; 2], b: [f32; 2]) -> f32 {
    ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)).sqrt()
}

async fn wait_for_structure(player: &mut SeeingPlayer, cell: Cell) -> Structure {
    player
        .until("the structure", |mirror| {
            let mut structures = mirror.entities().filter_map(|entity| mirror.get::<Structure>(entity));
            structures.find(|structure| Cell::at(structure.position) == Some(cell)).cloned()
        })
        .await
}

async fn check_rebuild(database: TestDatabase) {
    let setup = ServerSetup::new(&database, &[]);
    let mut server = setup.serve().await;
    let (token, _) = account(server.http).await;
    let guest = guest(server.http).await;
    let mut ann = SeeingPlayer::join(server.http, &hello(token, of_type("outpost")), outpost())
        .await
        .expect("the join is accepted");
    let mut ben = SeeingPlayer::join(server.http, &hello(guest, of_type("outpost")), outpost())
        .await
        .expect("the join is accepted");
    assert_eq!(ann.player.welcome.room, ben.player.welcome.room);
    let (ann_body, ben_body) = (ann.possession().await, ben.possession().await);
    let start = ann.position(ann_body).await;
    walk(&mut ann, start).await;
    let mut positions = [ann.position(ann_body).await, ben.position(ben_body).await];
    assert!(distance(positions[0], start) > 2.0, "she walked");
    let mut cells = vec![outwards(positions[0], 9.0)];
    ann.build(&Place::on(cells[0], Kind::Wall)).await.expect("the command is accepted");
    // Material regenerates for a while, so the state changes and is stored. The second checkpoint is from after she stopped.
    for _ in 0..2 {
        let stored = metric(&server, "aether_checkpoint_bytes_total").await;
        until_metric(&server, "aether_checkpoint_bytes_total", stored).await;
    }
    let mut spent = None;
    for round in 0..2_u8 {
        let last = Cell { column: cells[0].column, row: cells[0].row + 1 + round };
        ann.build(&Place::on(last, Kind::Fence)).await.expect("the command is accepted");
        let (http, admin) = (server.http, server.admin);
        server.kill().await;
        cells.push(last);
        let welcomes = [ann.player.welcome.clone(), ben.player.welcome.clone()];
        let hellos = [ann.player.resume_hello(), ben.player.resume_hello()];
        server = setup.serve_again(http, admin).await;
        assert_eq!(server.http, http, "the address is the same");
        ann = SeeingPlayer::join(http, &hellos[0], outpost()).await.expect("the resume token is valid");
        ben = SeeingPlayer::join(http, &hellos[1], outpost()).await.expect("the resume token is valid");
        for ((player, before), position) in [&mut ann, &mut ben].into_iter().zip(&welcomes).zip(&mut positions) {
            let after = &player.player.welcome;
            assert_eq!((after.player, &after.room), (before.player, &before.room), "round {round}");
            assert_eq!((&after.room_code, after.session), (&before.room_code, before.session));
            let body = player.possession().await;
            let found = player.position(body).await;
            assert!(distance(found, *position) <= SPEED, "round {round}: {found:?} is far from {position:?}");
            *position = found;
            for cell in &cells {
                wait_for_structure(player, *cell).await;
            }
        }
        let builder = ann.player.welcome.player.0;
        assert!(cells.len() == 2 + usize::from(round));
        assert_eq!(wait_for_structure(&mut ann, last).await.builder, builder, "the builder is stored");
        spent = Some(hellos[0].clone());
    }
    check_room_lookup(&server.http, &ann).await;
    check_token_reuse(&server.http, &mut ann, &spent.expect("she has resumed")).await;
    server.kill().await;
}

/// Checks that new players find the same room by type, code and id.
async fn check_room_lookup(http: &std::net::SocketAddr, ann: &SeeingPlayer) {
    let welcome = &ann.player.welcome;
    let code = RoomSelector::Code(welcome.room_code.to_ascii_lowercase());
    for room in [of_type("outpost"), code, RoomSelector::Id(welcome.room.clone())] {
        let eve =
            SeeingPlayer::join(*http, &hello(guest(*http).await, room), outpost()).await.expect("the join is accepted");
        assert_eq!(eve.player.welcome.room, welcome.room);
        assert!(eve.player.welcome.player > welcome.player);
    }
}

/// Checks that a resume token that was used before the kill is rejected.
async fn check_token_reuse(http: &std::net::SocketAddr, ann: &mut SeeingPlayer, spent: &Hello) {
    ann.player.send(ClientMessage::Ping(Ping::default())).await;
    ann.wait("a pong", |message| matches!(message, ServerMessage::Pong(_)).then_some(())).await;
    let notice = SeeingPlayer::join(*http, spent, outpost()).await.err().expect("the token was used");
    assert_eq!(notice.code, ErrorCode::ResumeRefused);
}

#[tokio::test(flavor = "multi_thread")]
async fn players_can_resume_after_a_stop_and_a_restart() {
    let database = file();
    let setup = ServerSetup::new(&database, &["shutdown.grace_seconds=0"]);
    let mut server = setup.serve().await;
    let mut ann = SeeingPlayer::join(server.http, &hello(guest(server.http).await, of_type("outpost")), outpost())
        .await
        .expect("the join is accepted");
    let body = ann.possession().await;
    let start = ann.position(body).await;
    walk(&mut ann, start).await;
    let position = ann.position(body).await;
    let (welcome, resume) = (ann.player.welcome.clone(), ann.player.resume_hello());
    let id = server.child.id().expect("the server runs").to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().await.expect("`kill` is installed").success());
    let end = ann.player.end().await;
    assert!(end.closing.is_some_and(|closing| closing.may_resume), "the closing message allows resuming");
    timeout(DEADLINE, server.child.wait()).await.expect("the server ends in time").expect("the process has a status");
    let server = setup.serve().await;
    let mut ann = SeeingPlayer::join(server.http, &resume, outpost()).await.expect("the resume token is valid");
    assert_eq!((ann.player.welcome.player, &ann.player.welcome.room), (welcome.player, &welcome.room));
    let body = ann.possession().await;
    assert!(distance(ann.position(body).await, position) < 0.1, "the last state was stored");
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_resume_time_a_player_is_gone_and_the_room_stays() {
    let database = file();
    let setup = ServerSetup::new(&database, &["room.outpost.resume_seconds=1"]);
    let server = setup.serve().await;
    let ann = SeeingPlayer::join(server.http, &hello(guest(server.http).await, of_type("outpost")), outpost())
        .await
        .expect("the join is accepted");
    let (welcome, resume) = (ann.player.welcome.clone(), ann.player.resume_hello());
    server.kill().await;
    let server = setup.serve().await;
    until_metric(&server, "aether_uptime_seconds", 1.5).await;
    let notice = SeeingPlayer::join(server.http, &resume, outpost()).await.err().expect("the resume time is over");
    assert_eq!(notice.code, ErrorCode::ResumeRefused);
    let id = RoomSelector::Id(welcome.room.clone());
    let again = SeeingPlayer::join(server.http, &hello(guest(server.http).await, id), outpost())
        .await
        .expect("the join is accepted");
    assert_eq!(again.player.welcome.room_code, welcome.room_code);
    assert!(again.player.welcome.player > welcome.player, "player ids are unique");
    server.kill().await;
}
