//! Ships of players, and their movement.

use crate::{DRAG, RELOAD_STEPS, SHOT_SPEED, SHOT_STEPS, SPEED_MAX, STEP_SECONDS, Shot, THRUST, TURN, wrapped};
use aether::libm::{cosf, sinf};
use aether::prelude::*;

/// Distance from the center of a ship to its nose, where shots start.
const NOSE: f32 = 18.0;
/// Direction of a new ship: up.
const HEADING_START: f32 = -std::f32::consts::FRAC_PI_2;

/// A ship.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "movement", position = position)]
pub struct Ship {
    /// Position of its center.
    #[replicate(range = 0.0..=2048.0, step = 0.015625, moves_by = velocity)]
    pub position: [f32; 2],
    /// Units a second.
    #[replicate(range = -512.0..=512.0, step = 0.015625)]
    pub velocity: [f32; 2],
    /// Direction of its nose, in radians; the second axis points down.
    #[replicate(angle = 12)]
    pub heading: f32,
    /// Steps until it can fire again.
    #[replicate(range = 0..=15)]
    pub reload: u8,
    /// True while the engine burns.
    pub is_thrusting: bool,
    /// True while nothing can destroy it. Only the server decides it.
    pub is_protected: bool,
    /// Number of the player.
    pub player: u32,
}

/// Input of one tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Replicate)]
pub struct Controls {
    /// Direction of turning: -1 is left, 1 is right.
    #[replicate(range = -1..=1)]
    pub turn: i8,
    /// True to accelerate.
    pub thrust: bool,
    /// True to fire.
    pub fire: bool,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Maneuver {
    /// True if the ship fired a shot.
    pub fired: bool,
}

impl Ship {
    /// Creates a ship at rest.
    #[must_use]
    pub fn at(position: [f32; 2], player: u32) -> Ship {
        let mut ship = Ship {
            position: wrapped(position),
            velocity: [0.0; 2],
            heading: HEADING_START,
            reload: 0,
            is_thrusting: false,
            is_protected: false,
            player,
        };
        ship.snap();
        ship
    }

    /// Returns the shot that the ship fires.
    #[must_use]
    pub fn fire(&self) -> Shot {
        let nose = direction(self.heading);
        let mut shot = Shot {
            position: wrapped([0, 1].map(|axis| self.position[axis] + nose[axis] * NOSE)),
            velocity: [0, 1].map(|axis| self.velocity[axis] + nose[axis] * SHOT_SPEED),
            player: self.player,
            steps_left: SHOT_STEPS,
        };
        shot.snap();
        shot
    }
}

/// Moves a ship by one step and snaps it to the wire's grid.
///
/// One input is one step: the same inputs and the same ship give the same result.
pub fn steer(ship: &mut Ship, controls: &Controls) -> Maneuver {
    ship.snap();
    ship.heading += f32::from(controls.turn.clamp(-1, 1)) * TURN * STEP_SECONDS;
    // The stored heading decides, so that server and client accelerate in the same direction.
    ship.snap();
    let push = if controls.thrust { THRUST * STEP_SECONDS } else { 0.0 };
    let nose = direction(ship.heading);
    let drag = 1.0 - DRAG * STEP_SECONDS;
    let velocity = [0, 1].map(|axis| ship.velocity[axis] * drag + nose[axis] * push);
    ship.velocity = limited(velocity, SPEED_MAX);
    ship.snap();
    ship.position = wrapped([0, 1].map(|axis| ship.position[axis] + ship.velocity[axis] * STEP_SECONDS));
    ship.is_thrusting = controls.thrust;
    ship.reload = ship.reload.saturating_sub(1);
    let fired = controls.fire && ship.reload == 0;
    if fired {
        ship.reload = RELOAD_STEPS;
    }
    ship.snap();
    Maneuver { fired }
}

/// Returns the direction of an angle, of length one.
fn direction(angle: f32) -> [f32; 2] {
    [cosf(angle), sinf(angle)]
}

/// Shortens a vector to a length.
fn limited(vector: [f32; 2], length_max: f32) -> [f32; 2] {
    let length = (vector[0] * vector[0] + vector[1] * vector[1]).sqrt();
    if length > length_max { vector.map(|part| part * length_max / length) } else { vector }
}
