//! Shots.

use crate::grid::rounded;
use crate::{CELL, Cell, Player, RADIUS, SHOT_SPEED, SHOT_STEPS, Surroundings};
use aether_bits::Replicate;

/// How far a shot is looked at ahead; below the side of a cell, so that it flies past none.
const STRIDE: f32 = CELL / 8.0;

/// A shot.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "projectile", position = position)]
pub struct Shot {
    /// Where it is.
    #[replicate(range = -256.0..=256.0, step = 0.015625, moves_by = velocity)]
    pub position: [f32; 2],
    /// Units a second.
    #[replicate(range = -64.0..=64.0, step = 0.015625)]
    pub velocity: [f32; 2],
    /// The number of the player who fired it, or whose turret did; zero if that player is away.
    pub shooter: u32,
    /// How many steps it has left.
    #[replicate(skip)]
    pub steps_left: u32,
    /// Whether a turret fired it, and not the player by hand.
    #[replicate(skip)]
    pub by_turret: bool,
}

/// Where a step took a shot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flight {
    /// Where it began.
    pub from: [f32; 2],
    /// Where it ended.
    pub to: [f32; 2],
    /// The cell whose structure it flew into.
    pub struck: Option<Cell>,
    /// Whether it is over.
    pub is_over: bool,
}

/// The shot that leaves a muzzle at a place, in the direction of `aim`.
#[must_use]
pub fn fire(place: [f32; 2], aim: f32, shooter: u32) -> Shot {
    let (x, y) = (libm::cosf(aim), libm::sinf(aim));
    let mut shot = Shot {
        position: place,
        velocity: [x * SHOT_SPEED, y * SHOT_SPEED],
        shooter,
        steps_left: SHOT_STEPS,
        by_turret: false,
    };
    shot.snap();
    shot
}

/// The direction from one place to another, in radians.
#[must_use]
pub fn aim_at(from: [f32; 2], to: [f32; 2]) -> f32 {
    libm::atan2f(to[1] - from[1], to[0] - from[0])
}

impl Player {
    /// The shot that the player fires. It begins in the player's middle, so that nobody shoots through a wall by standing
    /// close to it.
    #[must_use]
    pub fn fire(&self, shooter: u32) -> Shot {
        fire(self.position, self.aim, shooter)
    }
}

/// Moves a shot on by one step. It ends where it hits a structure or leaves the world.
pub fn fly(shot: &mut Shot, surroundings: &impl Surroundings, seconds: f32) -> Flight {
    shot.snap();
    let from = shot.position;
    let way = shot.velocity.map(|speed| speed * seconds);
    let pieces = ((way[0].abs() + way[1].abs()) / STRIDE).ceil().clamp(1.0, 64.0);
    shot.steps_left = shot.steps_left.saturating_sub(1);
    let mut flight = Flight { from, to: from, struck: None, is_over: shot.steps_left == 0 };
    for piece in 1..=pieces as u32 {
        let share = piece as f32 / pieces;
        let place = [0, 1].map(|axis| rounded(from[axis] + way[axis] * share));
        let Some(cell) = Cell::at(place) else {
            flight.is_over = true;
            break;
        };
        flight.to = place;
        // What it is in already it flies out of: people shoot out of doorways, and turrets out of themselves.
        if Cell::at(from) != Some(cell) && surroundings.structure_at(cell).is_some_and(|kind| kind.stops_shots()) {
            (flight.struck, flight.is_over) = (Some(cell), true);
            break;
        }
    }
    shot.position = flight.to;
    flight
}

/// Whether a way from one place to another touches a player in the third.
#[must_use]
pub fn passes(from: [f32; 2], to: [f32; 2], player: [f32; 2]) -> bool {
    let way = [to[0] - from[0], to[1] - from[1]];
    let there = [player[0] - from[0], player[1] - from[1]];
    let length_squared = way[0] * way[0] + way[1] * way[1];
    let along = (there[0] * way[0] + there[1] * way[1]) / length_squared;
    let share = if length_squared > 0.0 { along.clamp(0.0, 1.0) } else { 0.0 };
    crate::is_near(player, [from[0] + way[0] * share, from[1] + way[1] * share], RADIUS)
}
