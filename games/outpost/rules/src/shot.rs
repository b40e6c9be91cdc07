//! Shots.

use crate::grid::rounded;
use crate::{CELL, Cell, Player, RADIUS, SHOT_SPEED, SHOT_STEPS, Surroundings};
use aether::prelude::*;

/// Length of a collision step; shorter than a cell, so that none is skipped.
const STRIDE: f32 = CELL / 8.0;

/// A shot.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "projectile", position = position)]
pub struct Shot {
    /// Current position.
    #[replicate(range = -256.0..=256.0, step = 0.015625, moves_by = velocity)]
    pub position: [f32; 2],
    /// Units a second.
    #[replicate(range = -64.0..=64.0, step = 0.015625)]
    pub velocity: [f32; 2],
    /// Number of the player who fired it or whose turret did; zero if that player is away.
    pub shooter: u32,
    /// Remaining steps.
    #[replicate(skip)]
    pub steps_left: u32,
    /// True if a turret fired it.
    #[replicate(skip)]
    pub by_turret: bool,
}

/// Result of a step of a shot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flight {
    /// Start position.
    pub from: [f32; 2],
    /// End position.
    pub to: [f32; 2],
    /// Cell of the structure that it hit.
    pub struck: Option<Cell>,
    /// True if the shot has ended.
    pub is_over: bool,
}

/// Returns a shot fired from a position in the direction of `aim`.
#[must_use]
pub fn fire(position: [f32; 2], aim: f32, shooter: u32) -> Shot {
    let (x, y) = (aether::libm::cosf(aim), aether::libm::sinf(aim));
    let mut shot = Shot {
        position,
        velocity: [x * SHOT_SPEED, y * SHOT_SPEED],
        shooter,
        steps_left: SHOT_STEPS,
        by_turret: false,
    };
    shot.snap();
    shot
}

/// Returns the direction from one position to another, in radians.
#[must_use]
pub fn aim_at(from: [f32; 2], to: [f32; 2]) -> f32 {
    aether::libm::atan2f(to[1] - from[1], to[0] - from[0])
}

impl Player {
    /// Returns the shot that the player fires. It starts at the player's center, so that nobody can shoot through a
    /// wall by standing close to it.
    #[must_use]
    pub fn fire(&self, shooter: u32) -> Shot {
        fire(self.position, self.aim, shooter)
    }
}

/// Moves a shot by one step. It ends at a structure or at the edge of the world.
pub fn fly(shot: &mut Shot, surroundings: &impl Surroundings, seconds: f32) -> Flight {
    shot.snap();
    let from = shot.position;
    let offset = shot.velocity.map(|speed| speed * seconds);
    let pieces = ((offset[0].abs() + offset[1].abs()) / STRIDE).ceil().clamp(1.0, 64.0);
    shot.steps_left = shot.steps_left.saturating_sub(1);
    let mut flight = Flight { from, to: from, struck: None, is_over: shot.steps_left == 0 };
    for piece in 1..=pieces as u32 {
        let share = piece as f32 / pieces;
        let position = [0, 1].map(|axis| rounded(from[axis] + offset[axis] * share));
        let Some(cell) = Cell::at(position) else {
            flight.is_over = true;
            break;
        };
        flight.to = position;
        // A shot leaves the cell it starts in: players shoot out of doorways, and turrets out of themselves.
        if Cell::at(from) != Some(cell) && surroundings.structure_at(cell).is_some_and(|kind| kind.stops_shots()) {
            (flight.struck, flight.is_over) = (Some(cell), true);
            break;
        }
    }
    shot.position = flight.to;
    flight
}

/// Returns whether a path between two positions touches a player at the third.
#[must_use]
pub fn passes(from: [f32; 2], to: [f32; 2], player: [f32; 2]) -> bool {
    let path = [to[0] - from[0], to[1] - from[1]];
    let there = [player[0] - from[0], player[1] - from[1]];
    let length_squared = path[0] * path[0] + path[1] * path[1];
    let along = (there[0] * path[0] + there[1] * path[1]) / length_squared;
    let share = if length_squared > 0.0 { along.clamp(0.0, 1.0) } else { 0.0 };
    crate::is_near(player, [from[0] + path[0] * share, from[1] + path[1] * share], RADIUS)
}
