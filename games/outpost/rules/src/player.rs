//! Players and their movement.

use crate::grid::{index, rounded};
use crate::{
    ACCELERATION, CELL, Cell, EDGE, FRICTION, HEALTH_MAX, MATERIAL_MAX, RADIUS, RELOAD_STEPS, SPAWN_AREA, SPEED,
    Surroundings,
};
use aether::prelude::*;

/// Maximum duration of a step: within it nobody can pass a cell.
const SECONDS_MAX: f32 = 0.1;
/// Tolerance for touching a structure without overlapping it. It exceeds the resolution of positions.
const TOUCH: f32 = 0.03125;
/// Maximum coordinate of a player, so that it stays entirely inside the world.
const WALKABLE: f32 = EDGE - RADIUS;
/// Number of spawn points.
const SPAWN_POINTS: u32 = 12;

/// Predicted state of a player.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "movement", position = position)]
pub struct Player {
    /// Position of its center.
    #[replicate(range = -256.0..=256.0, step = 0.015625, moves_by = velocity)]
    pub position: [f32; 2],
    /// Units a second.
    #[replicate(range = -32.0..=32.0, step = 0.015625)]
    pub velocity: [f32; 2],
    /// Aim in radians.
    #[replicate(angle = 10)]
    pub aim: f32,
    /// Steps until it can shoot again.
    #[replicate(range = 0..=15)]
    pub reload: u8,
}

/// State of a player that only the server decides.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "bodies")]
pub struct Body {
    /// Number of the player.
    pub player: u32,
    /// Remaining health.
    #[replicate(range = 0..=100, default = 100)]
    pub health: i32,
    /// Material for building.
    #[replicate(range = 0..=100, default = 100)]
    pub material: i32,
    /// Number of the character.
    #[replicate(range = 0..=7)]
    pub appearance: u8,
    /// True while nothing can hurt it, as for a while after a respawn.
    pub is_protected: bool,
}

/// Input of one tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Replicate)]
pub struct Controls {
    /// Walking direction and speed; length one is full speed.
    #[replicate(range = -1.0..=1.0, step = 0.0078125)]
    pub push: [f32; 2],
    /// Aim in radians.
    #[replicate(angle = 10)]
    pub aim: f32,
    /// True to shoot.
    pub fire: bool,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stride {
    /// True if the player shot.
    pub fired: bool,
}

impl Player {
    /// Creates a player at rest.
    #[must_use]
    pub fn at(position: [f32; 2]) -> Player {
        Player { position, velocity: [0.0; 2], aim: 0.0, reload: 0 }
    }
}

impl Body {
    /// Creates a body with full health and material.
    #[must_use]
    pub fn of(player: u32, appearance: u8) -> Body {
        Body { player, health: HEALTH_MAX, material: MATERIAL_MAX, appearance, is_protected: false }
    }
}

/// Moves a player by one step and snaps it to the wire's grid.
///
/// One input is one step: the same inputs, player and surroundings give the same result.
pub fn walk(player: &mut Player, controls: &Controls, surroundings: &impl Surroundings, seconds: f32) -> Stride {
    // The server has only the snapped input, so predictions must use the same.
    let mut controls = *controls;
    controls.snap();
    let seconds = if seconds > 0.0 { seconds.min(SECONDS_MAX) } else { 0.0 };
    player.snap();
    player.velocity = accelerated(player.velocity, controls.push, seconds).map(rounded);
    for axis in 0..2 {
        advance(player, axis, surroundings, seconds);
    }
    player.aim = controls.aim;
    player.reload = player.reload.saturating_sub(1);
    let fired = controls.fire && player.reload == 0;
    if fired {
        player.reload = RELOAD_STEPS;
    }
    player.snap();
    Stride { fired }
}

/// Returns the spawn point of a number. Nothing can be built there.
#[must_use]
pub fn spawn_point(number: u32) -> [f32; 2] {
    let angle = (number % SPAWN_POINTS) as f32 / SPAWN_POINTS as f32 * std::f32::consts::TAU;
    let distance = SPAWN_AREA - 2.0 * RADIUS;
    [aether::libm::cosf(angle) * distance, aether::libm::sinf(angle) * distance]
}

/// Returns whether a player could stand at a position.
#[must_use]
pub fn is_free(position: [f32; 2], surroundings: &impl Surroundings) -> bool {
    let is_inside = position.iter().all(|coordinate| (-WALKABLE..=WALKABLE).contains(coordinate));
    let columns = [TOUCH - RADIUS, RADIUS - TOUCH].map(|side| index(position[0] + side));
    is_inside && columns.into_iter().flatten().all(|column| !is_blocked(position[1], 0, column, surroundings))
}

/// Returns the velocity after a step, accelerated towards the wanted one.
fn accelerated(velocity: [f32; 2], push: [f32; 2], seconds: f32) -> [f32; 2] {
    let pushed = length(push);
    let scale = if pushed > 1.0 { SPEED / pushed } else { SPEED };
    let rate = if pushed > 0.0 { ACCELERATION } else { FRICTION };
    let change = [push[0] * scale - velocity[0], push[1] * scale - velocity[1]];
    let wanted = length(change);
    let share = if wanted > rate * seconds { rate * seconds / wanted } else { 1.0 };
    [velocity[0] + change[0] * share, velocity[1] + change[1] * share]
}

/// Moves along one axis, up to an obstacle.
fn advance(player: &mut Player, axis: usize, surroundings: &impl Surroundings, seconds: f32) {
    let from = player.position[axis];
    let wanted = from + player.velocity[axis] * seconds;
    // Compares the rounded position, which is stored: rounding must not move anyone into a structure.
    let mut to = rounded(wanted.clamp(-WALKABLE, WALKABLE));
    let forward = wanted > from;
    let side = if forward { RADIUS - TOUCH } else { TOUCH - RADIUS };
    let mut is_stopped = wanted.abs() > WALKABLE;
    // A player that overlaps a structure may walk out of it: only newly entered cells count.
    if let (Some(before), Some(after)) = (index(from + side), index(to + side))
        && before != after
        && is_blocked(player.position[1 - axis], axis, after, surroundings)
    {
        let corner = f32::from(after) * CELL - EDGE;
        // Moving to the edge never moves backwards.
        to = if forward { from.max(corner - RADIUS) } else { from.min(corner + CELL + RADIUS) };
        is_stopped = true;
    }
    if is_stopped {
        player.velocity[axis] = 0.0;
    }
    player.position[axis] = to;
}

/// Returns whether a structure blocks a column (or row) for a player at `across` on the other axis.
fn is_blocked(across: f32, axis: usize, along: u8, surroundings: &impl Surroundings) -> bool {
    let [low, high] = [TOUCH - RADIUS, RADIUS - TOUCH].map(|side| index(across + side));
    [low, high].into_iter().flatten().any(|across| {
        let cell = if axis == 0 { Cell::new(along, across) } else { Cell::new(across, along) };
        cell.and_then(|cell| surroundings.structure_at(cell)).is_some_and(|kind| kind.stops_people())
    })
}

fn length([x, y]: [f32; 2]) -> f32 {
    (x * x + y * y).sqrt()
}
