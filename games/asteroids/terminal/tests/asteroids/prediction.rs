//! Prediction matches the server, also across the seam.

use crate::flight::Flight;
use aether::prelude::*;
use aether_asteroids::OwnShip;
use aether_asteroids_rules::{Controls, HEIGHT, WIDTH};
use std::time::Duration;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn network(latency_ms: u64, loss: f32) -> Conditions {
    let latency = Duration::from_millis(latency_ms);
    Conditions { latency, jitter: Duration::from_millis(10), loss, duplication: 0.02, ..Conditions::PERFECT }
}

/// Turns, thrusts and fires in turns.
fn wild(frame: u32) -> Controls {
    Controls {
        turn: (frame / 40 % 3) as i8 - 1,
        thrust: !(frame / 25).is_multiple_of(3),
        fire: (frame / 30).is_multiple_of(2),
    }
}

#[test]
fn there_are_no_corrections_while_a_ship_flies() {
    for (latency_ms, loss) in [(0, 0.0), (50, 0.05), (100, 0.1)] {
        for order in [DeliveryOrder::Unordered, DeliveryOrder::Ordered] {
            // A stream resends lost data after a round trip, and everything behind it waits.
            let loss = if order == DeliveryOrder::Ordered { 0.0 } else { loss };
            let mut flight = Flight::new(order, network(latency_ms, loss));
            flight.run(seconds(1));
            flight.controls = wild;
            let before = flight.client.stats();
            // The protection of a new ship lasts three seconds.
            flight.run(Duration::from_millis(1_800));
            let stats = flight.client.stats();
            let case = format!("{order:?}, {latency_ms} ms, {loss} lost: {stats:?}");
            assert_eq!(stats.corrections, before.corrections, "{case}");
            assert!(stats.inputs - before.inputs > 90, "{case}");
        }
    }
}

#[test]
fn a_lost_ship_is_followed_by_the_next_one() {
    let mut flight = Flight::new(DeliveryOrder::Unordered, network(60, 0.05));
    flight.controls = |_| Controls { thrust: true, ..Controls::default() };
    flight.run(seconds(1));
    let first = flight.client.own_entity();
    assert!(first.is_some() && flight.client.predicted_state().is_some());
    let is_next = (0..6_000).any(|_| {
        flight.run(Duration::from_millis(10));
        flight.client.own_entity() != first && flight.client.predicted_state().is_some()
    });
    assert!(is_next, "a ship that flies straight ahead hits something");
    assert!(flight.ship().is_some_and(|ship| ship.is_protected));
}

#[test]
fn a_ship_is_displayed_without_a_jump_while_it_crosses_the_seam() {
    let mut flight = Flight::new(DeliveryOrder::Unordered, network(40, 0.02));
    flight.controls = |_| Controls { thrust: true, ..Controls::default() };
    let (mut before, mut crossings, mut step_max) = (None, 0, 0.0f32);
    // The ship may be destroyed meanwhile: then the next one flies on.
    for _ in 0..3_000 {
        flight.run(Duration::from_millis(10));
        let now = flight.client.own_state().map(|OwnShip(ship)| (ship.player, ship.position));
        let entity = flight.client.own_entity();
        if let (Some((_, from)), Some((_, to)), true) = (before, now, entity == flight.last_entity) {
            let [x, y] = aether_asteroids_rules::offset(from, to);
            step_max = step_max.max((x * x + y * y).sqrt());
            crossings += u32::from((to[1] - from[1]).abs() > HEIGHT / 2.0 || (to[0] - from[0]).abs() > WIDTH / 2.0);
        }
        (before, flight.last_entity) = (now, entity);
    }
    assert!(crossings >= 3, "{crossings} crossings in thirty seconds");
    assert!(step_max < 30.0, "{step_max} units in ten milliseconds");
}
