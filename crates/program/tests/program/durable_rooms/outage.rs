//! Outage of the database: the room keeps running, commands that need the journal are rejected, and the room recovers.

use crate::support::{ServerSetup, until_metric};
use aether_outpost_rules::{Cell, Kind, Place};
use aether_testkit_server::seeing_player::{SeeingPlayer, guest, hello, of_type, outpost};
use aether_testkit_store::cluster;
use aether_wire::ErrorCode;

#[tokio::test(flavor = "multi_thread")]
async fn during_an_outage_a_room_keeps_running_and_rejects_commits() {
    let Some(mut cluster) = cluster() else { return };
    cluster.start().expect("the cluster is started");
    let setup = ServerSetup::at(&cluster.url(), &[]);
    let server = setup.serve().await;
    let mut ann = SeeingPlayer::join(server.http, &hello(guest(server.http).await, of_type("outpost")), outpost())
        .await
        .expect("the join is accepted");
    let body = ann.possession().await;
    let [x, y] = ann.position(body).await;
    let scale = 1.0 + 9.0 / (x * x + y * y).sqrt();
    let cell = Cell::at([x * scale, y * scale]).expect("the cell is inside the map");
    let mut cluster = tokio::task::spawn_blocking(move || {
        cluster.stop().expect("the cluster is stopped");
        cluster
    })
    .await
    .expect("the task does not panic");
    let refused = ann.build(&Place::on(cell, Kind::Fence)).await.expect_err("it cannot be stored");
    assert_eq!(refused.code, ErrorCode::Unavailable);
    assert!(refused.message.contains("could not be stored"), "{}", refused.message);
    let tick = ann.mirror.tick();
    ann.until("the room to keep running", |mirror| (mirror.tick().0 > tick.0 + 30).then_some(())).await;
    until_metric(&server, "aether_room_write_failures_total", 0.0).await;
    let cluster = tokio::task::spawn_blocking(move || {
        cluster.start().expect("the cluster is started");
        cluster
    })
    .await
    .expect("the task does not panic");
    let end = std::time::Instant::now() + aether_testkit_server::DEADLINE;
    while ann.build(&Place::on(cell, Kind::Fence)).await.is_err() {
        assert!(std::time::Instant::now() < end, "the room does not recover");
    }
    server.kill().await;
    drop(cluster);
}
