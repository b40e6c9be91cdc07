//! Prediction matches the server, and external effects are corrected.

use crate::scene::Scene;
use crate::support::controls;
use aether::prelude::*;
use aether_outpost_client::Drawn;
use aether_outpost_rules::{Cell, Controls, Kind, Place, Structure};
use std::time::Duration;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn network(latency_ms: u64, loss: f32) -> Conditions {
    let latency = Duration::from_millis(latency_ms);
    Conditions { latency, jitter: Duration::from_millis(30), loss, duplication: 0.02, ..Conditions::PERFECT }
}

/// Alternates every second between walking against the walls and elsewhere.
fn against_walls(frame: u32) -> Controls {
    let elsewhere = controls(frame / 2, 3);
    if (frame / 60).is_multiple_of(2) { Controls { push: [0.9, 0.5], ..elsewhere } } else { elsewhere }
}

/// Builds a wall outwards of the player.
fn build_walls(scene: &mut Scene, walker: usize) {
    let [x, y] = scene.player(walker).position;
    let cell = Cell::at([x * 1.75, y * 1.75]).expect("it is inside");
    for row in cell.row - 1..=cell.row + 1 {
        let place = Place::on(Cell { row, ..cell }, Kind::Fence);
        scene.walkers[walker].client.send_message(&place).expect("it is in the room");
    }
    scene.run(seconds(2));
    assert!(scene.room.world().each::<Structure>().count() >= 2, "there is something to run into");
}

#[test]
fn there_are_no_corrections_without_interference() {
    for (latency_ms, loss) in [(0, 0.0), (50, 0.05), (100, 0.2), (300, 0.0), (300, 0.2)] {
        for order in [DeliveryOrder::Unordered, DeliveryOrder::Ordered] {
            // A stream resends lost data after a round trip, and everything behind it waits. A room buffers half a
            // second of inputs; the rest is dropped, which no prediction can know.
            let loss = if order == DeliveryOrder::Ordered { 0.0 } else { loss };
            let mut scene = Scene::new();
            let ann = scene.join(order, network(latency_ms, loss));
            scene.run(seconds(3));
            build_walls(&mut scene, ann);
            let before = scene.walkers[ann].client.stats();
            scene.walkers[ann].steering = against_walls;
            scene.run(seconds(15));
            let stats = scene.walkers[ann].client.stats();
            let case = format!("{order:?}, {latency_ms} ms, {loss} lost: {stats:?}");
            assert_eq!(stats.corrections - before.corrections, 0, "{case}");
            assert!(stats.inputs - before.inputs > 400, "{case}");
            assert_eq!(scene.room.totals().inputs_dropped, 0, "{case}");
            scene.walkers[ann].steering = |_| Controls::default();
            scene.run(seconds(2));
            assert_eq!(scene.walkers[ann].client.predicted_state(), Some(&Drawn(scene.player(ann).clone())), "{case}");
        }
    }
}

#[test]
fn a_respawn_is_corrected_soon() {
    let mut scene = Scene::new();
    let ann = scene.join(DeliveryOrder::Unordered, network(60, 0.02));
    let ben = scene.join(DeliveryOrder::Ordered, network(20, 0.0));
    scene.run(seconds(1));
    let [x, y] = scene.player(ben).position;
    let cell = Cell::at([x * 1.75, y * 1.75]).expect("it is inside");
    scene.walkers[ben].client.send_message(&Place::on(cell, Kind::Turret)).expect("it is in the room");
    scene.walkers[ann].steering =
        |frame| Controls { push: [if frame / 30 % 2 == 0 { 0.3 } else { -0.3 }, 0.0], ..Controls::default() };
    scene.run(seconds(14));
    let falls = scene.walkers[ann].client.stats().corrections;
    assert!(falls >= 1, "the turret defeated her, which she could not predict");
    scene.walkers[ann].steering = |_| Controls::default();
    // She may be defeated again meanwhile; defeats are seconds apart.
    let is_right = (0..200).any(|_| {
        scene.run(Duration::from_millis(10));
        scene.walkers[ann].client.predicted_state() == Some(&Drawn(scene.player(ann).clone()))
    });
    assert!(is_right);
}
