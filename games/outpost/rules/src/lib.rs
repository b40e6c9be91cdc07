//! Outpost's rules: pure and deterministic, the same on the server and in a browser that predicts.
//!
//! The world is a square of cells, seen from above. Players walk and aim ([`walk`]), build on cells ([`can_place`]) and shoot
//! ([`Shot`]). Whatever a rule has to know of its surroundings it asks of [`Surroundings`].

mod grid;
mod message;
mod placement;
mod player;
mod shot;
mod structure;
mod trial;

pub use grid::{CELLS, Cell, Grid, Surroundings};
pub use message::{Destroyed, Dress, Fallen, Hit, Place, Presence, Remove};
pub use placement::{Builder, Obstacle, Preview, SPAWN_AREA, can_place, can_remove, preview};
pub use player::{Body, Controls, Player, Stride, is_free, spawn_point, walk};
pub use shot::{Flight, Shot, aim_at, fire, fly, passes};
pub use structure::{Kind, Structure};
pub use trial::trial;

/// Simulation steps a second.
pub const TICK_HZ: u32 = 30;
/// How long a step is.
pub const STEP_SECONDS: f32 = 1.0 / TICK_HZ as f32;
/// The world ends here on every side.
pub const EDGE: f32 = 256.0;
/// The side of a cell.
pub const CELL: f32 = 4.0;
/// Half the width of a player, who counts as a square when walking and as a circle when shot at.
pub const RADIUS: f32 = 1.25;
/// Units a second, at most.
pub const SPEED: f32 = 18.0;
/// Units a second, every second that a player walks.
pub const ACCELERATION: f32 = 120.0;
/// Units a second, every second that a player does not.
pub const FRICTION: f32 = 90.0;
/// Units a second.
pub const SHOT_SPEED: f32 = 60.0;
/// How many steps a shot flies.
pub const SHOT_STEPS: u32 = 45;
/// How many steps a player waits between two shots.
pub const RELOAD_STEPS: u8 = 7;
/// What a shot takes off a player or a structure.
pub const DAMAGE: i32 = 20;
/// What a player has when whole.
pub const HEALTH_MAX: i32 = 100;
/// How far from themselves players build, measured to the middle of the cell.
pub const REACH: f32 = 16.0;
/// The most material that a player carries.
pub const MATERIAL_MAX: i32 = 100;
/// The most structures of one player: a world has place for many builders, and a room for their entities.
pub const STRUCTURES_PER_PLAYER_MAX: u32 = 64;
/// How far a turret shoots.
pub const TURRET_REACH: f32 = 28.0;
/// How many characters there are to choose from.
pub const APPEARANCES: u8 = 8;

/// Whether two places are within a distance of each other.
#[must_use]
pub fn is_near(a: [f32; 2], b: [f32; 2], distance: f32) -> bool {
    let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
    dx * dx + dy * dy <= distance * distance
}
