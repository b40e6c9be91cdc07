//! Players, and how they walk.

use crate::grid::{index, rounded};
use crate::{
    ACCELERATION, CELL, Cell, EDGE, FRICTION, HEALTH_MAX, MATERIAL_MAX, RADIUS, RELOAD_STEPS, SPAWN_AREA, SPEED,
    Surroundings,
};
use aether_bits::Replicate;

/// No step is longer than this: within it nobody walks past a cell.
const SECONDS_MAX: f32 = 0.1;
/// Whoever is this close to a structure touches it, and does not stand in it yet. It is above the step of a position.
const TOUCH: f32 = 0.03125;
/// Farther out than this nobody gets, so that nobody stands half outside of the world.
const WALKABLE: f32 = EDGE - RADIUS;
/// How many places there are to begin at.
const SPAWN_POINTS: u32 = 12;

/// A player, as it is predicted.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "movement", position = position)]
pub struct Player {
    /// Where it is.
    #[replicate(range = -256.0..=256.0, step = 0.015625, moves_by = velocity)]
    pub position: [f32; 2],
    /// Units a second.
    #[replicate(range = -32.0..=32.0, step = 0.015625)]
    pub velocity: [f32; 2],
    /// Where it aims, in radians.
    #[replicate(angle = 10)]
    pub aim: f32,
    /// How many steps until it can shoot again.
    #[replicate(range = 0..=15)]
    pub reload: u8,
}

/// What the server alone decides about a player.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "bodies")]
pub struct Body {
    /// The player's number.
    pub player: u32,
    /// What is left of it.
    #[replicate(range = 0..=100, default = 100)]
    pub health: i32,
    /// What it has to build with.
    #[replicate(range = 0..=100, default = 100)]
    pub material: i32,
    /// Which character it is.
    #[replicate(range = 0..=7)]
    pub appearance: u8,
    /// Whether nothing can hurt it, as for a while after it fell.
    pub is_protected: bool,
}

/// What a player does in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Replicate)]
pub struct Controls {
    /// Where it walks, and how fast: a vector of length one is as fast as it can.
    #[replicate(range = -1.0..=1.0, step = 0.0078125)]
    pub push: [f32; 2],
    /// Where it aims, in radians.
    #[replicate(angle = 10)]
    pub aim: f32,
    /// Shoot.
    pub fire: bool,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stride {
    /// Whether the player shot.
    pub fired: bool,
}

impl Player {
    /// Someone at rest.
    #[must_use]
    pub fn at(position: [f32; 2]) -> Player {
        Player { position, velocity: [0.0; 2], aim: 0.0, reload: 0 }
    }
}

impl Body {
    /// Someone whole.
    #[must_use]
    pub fn of(player: u32, appearance: u8) -> Body {
        Body { player, health: HEALTH_MAX, material: MATERIAL_MAX, appearance, is_protected: false }
    }
}

/// Moves a player on by one step, and snaps it to what the wire can say.
///
/// One input is one step: whoever applies the same inputs to the same player among the same surroundings gets the same.
pub fn walk(player: &mut Player, controls: &Controls, surroundings: &impl Surroundings, seconds: f32) -> Stride {
    // The server only has what the wire could say, and so nobody may work with more.
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

/// Where a player begins, by any number. Nothing can be built there.
#[must_use]
pub fn spawn_point(number: u32) -> [f32; 2] {
    let angle = (number % SPAWN_POINTS) as f32 / SPAWN_POINTS as f32 * std::f32::consts::TAU;
    let distance = SPAWN_AREA - 2.0 * RADIUS;
    [libm::cosf(angle) * distance, libm::sinf(angle) * distance]
}

/// Whether someone could stand at a place.
#[must_use]
pub fn is_free(place: [f32; 2], surroundings: &impl Surroundings) -> bool {
    let is_inside = place.iter().all(|coordinate| (-WALKABLE..=WALKABLE).contains(coordinate));
    let columns = [TOUCH - RADIUS, RADIUS - TOUCH].map(|side| index(place[0] + side));
    is_inside && columns.into_iter().flatten().all(|column| !is_blocked(place[1], 0, column, surroundings))
}

/// The velocity after a step: towards the one that is wanted, as fast as that goes.
fn accelerated(velocity: [f32; 2], push: [f32; 2], seconds: f32) -> [f32; 2] {
    let pushed = length(push);
    let scale = if pushed > 1.0 { SPEED / pushed } else { SPEED };
    let rate = if pushed > 0.0 { ACCELERATION } else { FRICTION };
    let change = [push[0] * scale - velocity[0], push[1] * scale - velocity[1]];
    let wanted = length(change);
    let share = if wanted > rate * seconds { rate * seconds / wanted } else { 1.0 };
    [velocity[0] + change[0] * share, velocity[1] + change[1] * share]
}

/// Moves along one axis, up to what is in the way.
fn advance(player: &mut Player, axis: usize, surroundings: &impl Surroundings, seconds: f32) {
    let from = player.position[axis];
    let wanted = from + player.velocity[axis] * seconds;
    // What is compared is what will be kept: rounding must not carry anyone into a structure.
    let mut to = rounded(wanted.clamp(-WALKABLE, WALKABLE));
    let forward = wanted > from;
    let side = if forward { RADIUS - TOUCH } else { TOUCH - RADIUS };
    let mut is_stopped = wanted.abs() > WALKABLE;
    // Whoever stands in something already may walk out of it: only what is new counts.
    if let (Some(before), Some(after)) = (index(from + side), index(to + side))
        && before != after
        && is_blocked(player.position[1 - axis], axis, after, surroundings)
    {
        let corner = f32::from(after) * CELL - EDGE;
        // The way to the edge is never a way back.
        to = if forward { from.max(corner - RADIUS) } else { from.min(corner + CELL + RADIUS) };
        is_stopped = true;
    }
    if is_stopped {
        player.velocity[axis] = 0.0;
    }
    player.position[axis] = to;
}

/// Whether something stands in a column (or row), beside someone who is at `across` on the other axis.
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
