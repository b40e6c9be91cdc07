//! Shots.

use crate::{STEP_SECONDS, offset, wrapped};
use aether::prelude::*;

/// A shot. Its velocity is a multiple of the grid's step per tick, so it flies exactly straight.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "shots", position = position)]
pub struct Shot {
    /// Current position.
    #[replicate(range = 0.0..=2048.0, step = 0.015625, moves_by = velocity)]
    pub position: [f32; 2],
    /// Units a second.
    #[replicate(range = -1125.0..=1125.0, step = 0.9375)]
    pub velocity: [f32; 2],
    /// Number of the player who fired it.
    pub player: u32,
    /// Remaining steps.
    #[replicate(skip)]
    pub steps_left: u8,
}

/// Moves a shot by one step. Returns false if it has ended.
pub fn fly(shot: &mut Shot) -> bool {
    shot.snap();
    shot.position = wrapped([0, 1].map(|axis| shot.position[axis] + shot.velocity[axis] * STEP_SECONDS));
    shot.steps_left = shot.steps_left.saturating_sub(1);
    shot.steps_left > 0
}

/// Returns whether a straight path by `path`, which ends at `to`, comes within a distance of a position. All of them may
/// be on different sides of the seam.
#[must_use]
pub fn meets(to: [f32; 2], path: [f32; 2], position: [f32; 2], distance: f32) -> bool {
    let there = offset(to, position);
    let length_squared = path[0] * path[0] + path[1] * path[1];
    // Share of the path, counted backwards from its end, that is nearest to the position.
    let along = if length_squared > 0.0 { -(there[0] * path[0] + there[1] * path[1]) / length_squared } else { 0.0 };
    let share = along.clamp(0.0, 1.0);
    let [x, y] = [there[0] + path[0] * share, there[1] + path[1] * share];
    x * x + y * y <= distance * distance
}
