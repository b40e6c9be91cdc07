//! A server that is killed and started again has its rooms, its players and what they were told is done.

use crate::support::{Site, metric, until_metric};
use aether_outpost_rules::{Cell, Controls, Kind, Place, SPEED, Structure};
use aether_testkit_server::DEADLINE;
use aether_testkit_server::seat::{SeeingPlayer, account, guest, hello, of_type, outpost};
use aether_testkit_store::{TestDatabase, file, postgres};
use aether_wire::{ClientMessage, ErrorCode, Hello, Ping, RoomSelector, ServerMessage};
use tokio::process::Command;
use tokio::time::timeout;

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_a_killed_room_comes_back() {
    comes_back(file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_a_killed_room_comes_back() {
    if let Some(database) = postgres() {
        comes_back(database).await;
    }
}

/// Walks outwards for a while, then stands.
async fn walk(seat: &mut SeeingPlayer, from: [f32; 2]) {
    let length = (from[0] * from[0] + from[1] * from[1]).sqrt();
    let push = [from[0] / length, from[1] / length];
    for _ in 0..15 {
        seat.step(&Controls { push, ..Controls::default() }).await;
    }
    for _ in 0..5 {
        seat.step(&Controls::default()).await;
    }
}

/// A cell so far outwards of a place.
fn outwards([x, y]: [f32; 2], distance: f32) -> Cell {
    let scale = 1.0 + distance / (x * x + y * y).sqrt();
    Cell::at([x * scale, y * scale]).expect("it is inside")
}

fn distance(a: [f32; 2], b: [f32; 2]) -> f32 {
    ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)).sqrt()
}

async fn sees(seat: &mut SeeingPlayer, cell: Cell) -> Structure {
    seat.until("the structure", |mirror| {
        let mut structures = mirror.entities().filter_map(|entity| mirror.get::<Structure>(entity));
        structures.find(|structure| Cell::at(structure.position) == Some(cell)).cloned()
    })
    .await
}

async fn comes_back(database: TestDatabase) {
    let site = Site::new(&database, &[]);
    let mut server = site.serve().await;
    let (token, _) = account(server.http).await;
    let guest = guest(server.http).await;
    let mut ann =
        SeeingPlayer::take(server.http, &hello(token, of_type("outpost")), outpost()).await.expect("she is let in");
    let mut ben =
        SeeingPlayer::take(server.http, &hello(guest, of_type("outpost")), outpost()).await.expect("he is let in");
    assert_eq!(ann.player.welcome.room, ben.player.welcome.room);
    let (ann_body, ben_body) = (ann.player.possession().await, ben.player.possession().await);
    let start = ann.place(ann_body).await;
    walk(&mut ann, start).await;
    let mut places = [ann.place(ann_body).await, ben.place(ben_body).await];
    assert!(distance(places[0], start) > 2.0, "she walked");
    let mut cells = vec![outwards(places[0], 9.0)];
    ann.build(&Place::on(cells[0], Kind::Wall)).await.expect("it is allowed");
    // Material comes back for a while, so the state changes and is stored; the second one is from after she stood still.
    for _ in 0..2 {
        let stored = metric(&server, "aether_checkpoint_bytes_total").await;
        until_metric(&server, "aether_checkpoint_bytes_total", stored).await;
    }
    let mut spent = None;
    for round in 0..2_u8 {
        let last = Cell { column: cells[0].column, row: cells[0].row + 1 + round };
        ann.build(&Place::on(last, Kind::Fence)).await.expect("it is allowed");
        let (http, admin) = (server.http, server.admin);
        server.kill().await;
        cells.push(last);
        let welcomes = [ann.player.welcome.clone(), ben.player.welcome.clone()];
        let comebacks = [ann.player.comeback(), ben.player.comeback()];
        server = site.serve_again(http, admin).await;
        assert_eq!(server.http, http, "it is where it was");
        ann = SeeingPlayer::take(http, &comebacks[0], outpost()).await.expect("her token is good");
        ben = SeeingPlayer::take(http, &comebacks[1], outpost()).await.expect("his token is good");
        for ((seat, before), place) in [&mut ann, &mut ben].into_iter().zip(&welcomes).zip(&mut places) {
            let after = &seat.player.welcome;
            assert_eq!((after.player, &after.room), (before.player, &before.room), "round {round}");
            assert_eq!((&after.room_code, after.session), (&before.room_code, before.session));
            let body = seat.player.possession().await;
            let found = seat.place(body).await;
            assert!(distance(found, *place) <= SPEED, "round {round}: {found:?} is far from {place:?}");
            *place = found;
            for cell in &cells {
                sees(seat, *cell).await;
            }
        }
        let own = ann.player.welcome.player.0;
        assert!(cells.len() == 2 + usize::from(round));
        assert_eq!(sees(&mut ann, last).await.builder, own, "what she built is hers");
        spent = Some(comebacks[0].clone());
    }
    others_find_it(&server.http, &ann).await;
    reuse_is_noticed(&server.http, &mut ann, &spent.expect("she came back")).await;
    server.kill().await;
}

/// Newcomers find the same room by its type, its code and its id.
async fn others_find_it(http: &std::net::SocketAddr, ann: &SeeingPlayer) {
    let welcome = &ann.player.welcome;
    let code = RoomSelector::Code(welcome.room_code.to_ascii_lowercase());
    for room in [of_type("outpost"), code, RoomSelector::Id(welcome.room.clone())] {
        let eve = SeeingPlayer::take(*http, &hello(guest(*http).await, room), outpost()).await.expect("she is let in");
        assert_eq!(eve.player.welcome.room, welcome.room);
        assert!(eve.player.welcome.player > welcome.player);
    }
}

/// A token that was used before the kill and is shown again ends the session.
async fn reuse_is_noticed(http: &std::net::SocketAddr, ann: &mut SeeingPlayer, spent: &Hello) {
    ann.player.send(ClientMessage::Ping(Ping::default())).await;
    ann.player.wait("a pong", |message| matches!(message, ServerMessage::Pong(_)).then_some(())).await;
    let notice = SeeingPlayer::take(*http, spent, outpost()).await.err().expect("it was used");
    assert_eq!(notice.code, ErrorCode::ResumeRefused);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_stopped_and_started_again_has_its_players() {
    let database = file();
    let site = Site::new(&database, &["shutdown.grace_seconds=0"]);
    let mut server = site.serve().await;
    let mut ann = SeeingPlayer::take(server.http, &hello(guest(server.http).await, of_type("outpost")), outpost())
        .await
        .expect("let in");
    let body = ann.player.possession().await;
    let start = ann.place(body).await;
    walk(&mut ann, start).await;
    let place = ann.place(body).await;
    let (welcome, comeback) = (ann.player.welcome.clone(), ann.player.comeback());
    let id = server.child.id().expect("it runs").to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().await.expect("there is kill").success());
    let end = ann.player.end().await;
    assert!(end.closing.is_some_and(|closing| closing.may_resume), "she is told that she may come back");
    timeout(DEADLINE, server.child.wait()).await.expect("it ends in time").expect("it can be waited for");
    let server = site.serve().await;
    let mut ann = SeeingPlayer::take(server.http, &comeback, outpost()).await.expect("her token is good");
    assert_eq!((ann.player.welcome.player, &ann.player.welcome.room), (welcome.player, &welcome.room));
    let body = ann.player.possession().await;
    assert!(distance(ann.place(body).await, place) < 0.1, "the last state was stored");
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_back_too_late_has_lost_the_place_but_not_the_room() {
    let database = file();
    let site = Site::new(&database, &["room.outpost.resume_seconds=1"]);
    let server = site.serve().await;
    let ann = SeeingPlayer::take(server.http, &hello(guest(server.http).await, of_type("outpost")), outpost())
        .await
        .expect("let in");
    let (welcome, comeback) = (ann.player.welcome.clone(), ann.player.comeback());
    server.kill().await;
    let server = site.serve().await;
    until_metric(&server, "aether_uptime_seconds", 1.5).await;
    let notice = SeeingPlayer::take(server.http, &comeback, outpost()).await.err().expect("it is too late");
    assert_eq!(notice.code, ErrorCode::ResumeRefused);
    let id = RoomSelector::Id(welcome.room.clone());
    let again = SeeingPlayer::take(server.http, &hello(guest(server.http).await, id), outpost()).await.expect("let in");
    assert_eq!(again.player.welcome.room_code, welcome.room_code);
    assert!(again.player.welcome.player > welcome.player, "no number is given twice");
    server.kill().await;
}
