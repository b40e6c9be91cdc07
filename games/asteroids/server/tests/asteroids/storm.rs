//! Bad networks, and the same game from the same inputs.

use crate::support::{any_controls, stage};
use aether::prelude::*;
use aether_asteroids_rules::{HEIGHT, Ship, WIDTH};

#[test]
fn all_clients_converge_after_a_storm_and_nothing_leaves_the_world() {
    let mut stage = stage(41);
    let clients: Vec<_> = (0..8)
        .map(|number| {
            let order = if number % 2 == 0 { DeliveryOrder::Ordered } else { DeliveryOrder::Unordered };
            stage.join(&format!("player {number}"), order, Conditions::STORM)
        })
        .collect();
    for tick in 0..900 {
        for (number, client) in clients.iter().enumerate() {
            stage.set_input(*client, Some(&any_controls(tick, number as u32)));
        }
        stage.tick(1);
        for (_, ship) in stage.room().world().each::<Ship>() {
            let [x, y] = ship.position;
            assert!((0.0..WIDTH).contains(&x) && (0.0..HEIGHT).contains(&y));
        }
    }
    assert!(clients.iter().any(|client| !stage.has_converged(*client)), "the storm must cause divergence first");
    stage.heal();
    stage.tick(180);
    for client in &clients {
        assert!(stage.has_converged(*client), "{}", stage.client(*client).name());
        assert_eq!(stage.client(*client).received().faults, Vec::<String>::new());
    }
}

/// Plays a short game, and returns the hash of the room.
fn hash_of_game(seed: u64) -> u64 {
    let mut stage = stage(seed);
    let clients: Vec<_> = (0..3)
        .map(|number| stage.join(&format!("player {number}"), DeliveryOrder::Ordered, Conditions::PERFECT))
        .collect();
    for tick in 0..600 {
        for (number, client) in clients.iter().enumerate() {
            stage.set_input(*client, Some(&any_controls(tick, number as u32)));
        }
        stage.tick(1);
    }
    stage.room().hash()
}

#[test]
fn the_same_inputs_lead_to_the_same_room() {
    assert_eq!(hash_of_game(42), hash_of_game(42));
    assert_ne!(hash_of_game(42), hash_of_game(43));
}
