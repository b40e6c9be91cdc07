//! What is drawn, channel by channel.

use crate::support::{Sandbox, Scene, row_of, ship_of};
use aether_client::ClientEvent;
use aether_replication::DeliveryOrder;
use aether_testkit_client::{network, serpentine, zigzag};
use std::time::Duration;

/// The numbers of a ship in a row.
const SHIP: usize = 7;

#[test]
fn the_own_ship_is_drawn_where_it_is_predicted_and_others_as_they_are() {
    let mut scene = Scene::new(Some(Sandbox), DeliveryOrder::Ordered, network(100, 0.0), 3);
    let _other = scene.watch();
    scene.run(Duration::from_secs(3), zigzag);
    let own = scene.core.client.own_entity().expect("it has a ship");
    let drawn = scene.drawn(0, SHIP);
    assert_eq!(drawn.len(), 2);
    let (_, row) = drawn.iter().find(|(entity, _)| *entity == own.to_bits() as f64).expect("it is drawn");
    let shown = scene.core.client.own_state().expect("it is predicted");
    assert_eq!(*row, shown.row);
    let newest = scene.core.client.game().view().borrow().rows(own).expect("it is known")[0].clone();
    assert_ne!(newest.expect("it has this component")[..2], row[..2], "the server's newest state is older");
    let mut one = Vec::new();
    scene.core.draw_one(0, own, &mut one);
    assert_eq!(one[2..], *row);
    let nothing = scene.drawn(99, SHIP);
    assert!(nothing.is_empty(), "there is no such channel");
}

#[test]
fn what_is_seen_between_two_states_moves_evenly_and_keeps_what_does_not_lie_between() {
    let mut scene = Scene::new(None, DeliveryOrder::Ordered, network(0, 0.0), 3);
    scene.run(Duration::from_secs(3), serpentine);
    let mut places = Vec::new();
    for _ in 0..60 {
        scene.run(Duration::from_millis(16), serpentine);
        let (_, row) = scene.drawn(0, SHIP).remove(0);
        assert_eq!(ship_of(&row).hull, 100);
        assert_eq!(row_of(&ship_of(&row))[5..], row[5..], "whole numbers stay whole");
        places.push([row[0], row[1]]);
    }
    let ways: Vec<f64> =
        places.windows(2).map(|pair| (pair[1][0] - pair[0][0]).hypot(pair[1][1] - pair[0][1])).collect();
    let longest = ways.iter().copied().fold(0.0, f64::max);
    assert!(ways.iter().filter(|way| **way > 0.0).count() > 50, "it moves in nearly every frame: {ways:?}");
    assert!(longest < 4.0, "and never jumps: {longest}");
}

#[test]
fn the_surroundings_are_the_newest_and_their_version_tells_of_every_change() {
    let mut scene = Scene::new(Some(Sandbox), DeliveryOrder::Ordered, network(0, 0.0), 3);
    scene.run(Duration::from_secs(1), zigzag);
    let view = scene.core.client.game().view().clone();
    let (before, shots) = (view.borrow().version(0), view.borrow().version(2));
    scene.run(Duration::from_secs(1), zigzag);
    assert_ne!(view.borrow().version(0), before, "ships moved");
    assert_eq!(view.borrow().version(2), shots, "nobody shot");
    let mut out = Vec::new();
    view.borrow().draw(&[0], &mut out);
    assert_eq!(out.len(), 2 + SHIP);
    let other = scene.watch();
    scene.run(Duration::from_millis(500), zigzag);
    out.clear();
    view.borrow().draw(&[0], &mut out);
    assert_eq!(out.len(), 2 * (2 + SHIP));
    drop(other);
}

#[test]
fn one_is_in_only_once_the_schema_is_known() {
    let mut scene = Scene::new(None, DeliveryOrder::Ordered, network(200, 0.0), 3);
    scene.run(Duration::from_millis(700), zigzag);
    assert!(scene.core.client.welcome().is_some() && scene.core.client.mirror().is_none(), "the schema is under way");
    assert_eq!(scene.core.next_event(), None);
    scene.run(Duration::from_secs(1), zigzag);
    assert!(matches!(scene.core.next_event(), Some(ClientEvent::Joined { .. })));
    let seen = std::iter::from_fn(|| scene.core.client.game_mut().next_seen()).collect::<Vec<_>>();
    assert_eq!(seen.iter().map(|seen| seen.entered.len()).sum::<usize>(), 1, "its own ship: {seen:?}");
}
