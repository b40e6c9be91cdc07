//! A database that is away: the room goes on, what must be stored is refused with a sentence, and all is well again after.

use crate::support::{Site, until_metric};
use aether_outpost_rules::{Cell, Kind, Place};
use aether_testkit_server::seat::{SeeingPlayer, guest, hello, of_type, outpost};
use aether_testkit_store::cluster;
use aether_wire::ErrorCode;

#[tokio::test(flavor = "multi_thread")]
async fn without_its_database_a_room_goes_on_and_refuses_to_promise() {
    let Some(mut cluster) = cluster() else { return };
    cluster.start().expect("it can be started");
    let site = Site::at(&cluster.url(), &[]);
    let server = site.serve().await;
    let mut ann = SeeingPlayer::take(server.http, &hello(guest(server.http).await, of_type("outpost")), outpost())
        .await
        .expect("let in");
    let body = ann.player.possession().await;
    let [x, y] = ann.place(body).await;
    let scale = 1.0 + 9.0 / (x * x + y * y).sqrt();
    let cell = Cell::at([x * scale, y * scale]).expect("it is inside");
    let mut cluster = tokio::task::spawn_blocking(move || {
        cluster.stop().expect("it can be stopped");
        cluster
    })
    .await
    .expect("it does not fail");
    let refused = ann.build(&Place::on(cell, Kind::Fence)).await.expect_err("nobody could keep it");
    assert_eq!(refused.code, ErrorCode::Unavailable);
    assert!(refused.message.contains("could not be stored"), "{}", refused.message);
    let tick = ann.mirror.tick();
    ann.until("the room goes on", |mirror| (mirror.tick().0 > tick.0 + 30).then_some(())).await;
    until_metric(&server, "aether_room_write_failures_total", 0.0).await;
    let cluster = tokio::task::spawn_blocking(move || {
        cluster.start().expect("it can be started");
        cluster
    })
    .await
    .expect("it does not fail");
    let end = std::time::Instant::now() + aether_testkit_server::DEADLINE;
    while ann.build(&Place::on(cell, Kind::Fence)).await.is_err() {
        assert!(std::time::Instant::now() < end, "it is not found again");
    }
    server.kill().await;
    drop(cluster);
}
