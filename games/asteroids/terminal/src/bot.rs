//! A client that plays by itself.

use crate::client_game::{AsteroidsClient, OwnShip};
use crate::scene::Scene;
use aether::prelude::*;
use aether_asteroids_rules::{Controls, PlayStatus, autopilot};

/// Returns the controls of a bot.
pub fn controls(client: &Client<AsteroidsClient>, scene: &Scene) -> Controls {
    if let (Some(OwnShip(ship)), Some(_)) = (client.predicted_state(), &scene.own) {
        return autopilot(ship, scene.asteroids.iter().map(|seen| &seen.asteroid));
    }
    // Presses and releases the trigger, which starts the next game.
    let is_over = scene.standing().is_some_and(|standing| standing.status == PlayStatus::GameOver);
    Controls { fire: is_over && (client.tick().0 / 30).is_multiple_of(2), ..Controls::default() }
}
