//! Drawn rows of a channel.

use crate::support::{Sandbox, Scene, row_of, ship_of};
use aether_client::ClientEvent;
use aether_replication::DeliveryOrder;
use aether_testkit_client::{network, serpentine, zigzag};
use std::time::Duration;

/// Length of a ship's row.
const SHIP: usize = 7;

#[test]
fn the_own_ship_is_drawn_as_predicted() {
    let mut scene = Scene::new(Some(Sandbox), DeliveryOrder::Ordered, network(100, 0.0), 3);
    let _other = scene.join_observer();
    scene.run(Duration::from_secs(3), zigzag);
    let own = scene.core.client.own_entity().expect("a ship");
    let drawn = scene.drawn(0, SHIP);
    assert_eq!(drawn.len(), 2);
    let (_, row) = drawn.iter().find(|(entity, _)| *entity == own.to_bits() as f64).expect("the own ship is drawn");
    let shown = scene.core.client.own_state().expect("a predicted state");
    assert_eq!(*row, shown.row);
    let newest = scene.core.client.game().visible_rows().borrow().rows(own).expect("known rows")[0].clone();
    assert_ne!(newest.expect("the predicted component")[..2], row[..2], "the server's newest state is older");
    let mut one = Vec::new();
    scene.core.draw_one(0, own, &mut one);
    assert_eq!(one[2..], *row);
    let nothing = scene.drawn(99, SHIP);
    assert!(nothing.is_empty(), "unknown channel");
}

#[test]
fn interpolated_rows_move_evenly_and_other_values_are_copied() {
    let mut scene = Scene::new(None, DeliveryOrder::Ordered, network(0, 0.0), 3);
    scene.run(Duration::from_secs(3), serpentine);
    let mut positions = Vec::new();
    for _ in 0..60 {
        scene.run(Duration::from_millis(16), serpentine);
        let (_, row) = scene.drawn(0, SHIP).remove(0);
        assert_eq!(ship_of(&row).hull, 100);
        assert_eq!(row_of(&ship_of(&row))[5..], row[5..], "whole numbers stay whole");
        positions.push([row[0], row[1]]);
    }
    let distances: Vec<f64> =
        positions.windows(2).map(|pair| (pair[1][0] - pair[0][0]).hypot(pair[1][1] - pair[0][1])).collect();
    let longest = distances.iter().copied().fold(0.0, f64::max);
    assert!(
        distances.iter().filter(|distance| **distance > 0.0).count() > 50,
        "no movement in some frames: {distances:?}"
    );
    assert!(longest < 4.0, "jump of {longest}");
}

#[test]
fn visible_rows_are_the_newest_and_their_version_counts_changes() {
    let mut scene = Scene::new(Some(Sandbox), DeliveryOrder::Ordered, network(0, 0.0), 3);
    scene.run(Duration::from_secs(1), zigzag);
    let visible = scene.core.client.game().visible_rows().clone();
    let (before, shots) = (visible.borrow().version(0), visible.borrow().version(2));
    scene.run(Duration::from_secs(1), zigzag);
    assert_ne!(visible.borrow().version(0), before, "ships moved");
    assert_eq!(visible.borrow().version(2), shots, "nobody shot");
    let mut out = Vec::new();
    visible.borrow().draw(&[0], &mut out);
    assert_eq!(out.len(), 2 + SHIP);
    let other = scene.join_observer();
    scene.run(Duration::from_millis(500), zigzag);
    out.clear();
    visible.borrow().draw(&[0], &mut out);
    assert_eq!(out.len(), 2 * (2 + SHIP));
    drop(other);
}

#[test]
fn the_join_is_reported_once_the_schema_is_known() {
    let mut scene = Scene::new(None, DeliveryOrder::Ordered, network(200, 0.0), 3);
    scene.run(Duration::from_millis(700), zigzag);
    assert!(
        scene.core.client.welcome().is_some() && scene.core.client.mirror().is_none(),
        "the schema has not arrived yet"
    );
    assert_eq!(scene.core.next_event(), None);
    scene.run(Duration::from_secs(1), zigzag);
    assert!(matches!(scene.core.next_event(), Some(ClientEvent::Joined { .. })));
    let changes = std::iter::from_fn(|| scene.core.client.game_mut().next_changes()).collect::<Vec<_>>();
    assert_eq!(
        changes.iter().map(|change| change.entered.len()).sum::<usize>(),
        1,
        "expected the own ship: {changes:?}"
    );
}
