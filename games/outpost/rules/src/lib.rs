//! Rules of Outpost: pure and deterministic, the same on the server and in a browser that predicts.
//!
//! The world is a square of cells, seen from above. Players walk and aim ([`walk`]), build on cells ([`can_place`]) and
//! shoot ([`Shot`]). Rules query structures through [`Surroundings`].

mod grid;
mod message;
mod placement;
mod player;
mod shot;
mod structure;
mod trial;

pub use grid::{CELLS, Cell, StructureGrid, Surroundings};
pub use message::{Destroyed, Fallen, Hit, Place, Play, Presence, Remove};
pub use placement::{Builder, Obstacle, Preview, SPAWN_AREA, can_place, can_remove, preview};
pub use player::{Body, Controls, Player, Stride, is_free, spawn_point, walk};
pub use shot::{Flight, Shot, aim_at, fire, fly, passes};
pub use structure::{Kind, Structure};
pub use trial::trial;

/// Ticks per second.
pub const TICK_HZ: u32 = 30;
/// Duration of a tick.
pub const STEP_SECONDS: f32 = 1.0 / TICK_HZ as f32;
/// Edge of the world on every side.
pub const EDGE: f32 = 256.0;
/// Side length of a cell.
pub const CELL: f32 = 4.0;
/// Half the width of a player, who is a square when walking and a circle for shots.
pub const RADIUS: f32 = 1.25;
/// Maximum speed, in units a second.
pub const SPEED: f32 = 18.0;
/// Acceleration while walking, in units per second squared.
pub const ACCELERATION: f32 = 120.0;
/// Deceleration while not walking, in units per second squared.
pub const FRICTION: f32 = 90.0;
/// Speed of a shot, in units a second.
pub const SHOT_SPEED: f32 = 60.0;
/// Number of steps that a shot flies.
pub const SHOT_STEPS: u32 = 45;
/// Number of steps between two shots of a player.
pub const RELOAD_STEPS: u8 = 7;
/// Damage of a shot to a player or a structure.
pub const DAMAGE: i32 = 20;
/// Maximum health of a player.
pub const HEALTH_MAX: i32 = 100;
/// Build distance, measured to the center of the cell.
pub const REACH: f32 = 16.0;
/// Maximum material of a player.
pub const MATERIAL_MAX: i32 = 100;
/// Maximum number of structures of one player, so that many builders fit a world and its entity limit.
pub const STRUCTURES_PER_PLAYER_MAX: u32 = 64;
/// Range of a turret.
pub const TURRET_REACH: f32 = 28.0;
/// Maximum bytes of a profile's id, as the services have it.
pub const PROFILE_BYTES_MAX: usize = 64;
/// Number of appearances to choose from.
pub const APPEARANCES: u8 = 8;

/// Returns whether two positions are within a distance of each other.
#[must_use]
pub fn is_near(a: [f32; 2], b: [f32; 2], distance: f32) -> bool {
    let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
    dx * dx + dy * dy <= distance * distance
}
