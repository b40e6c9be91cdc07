//! Rules of Asteroids: pure and deterministic, the same on the server and on a client that predicts.
//!
//! The world wraps around: what leaves it at one edge enters it at the opposite one ([`wrapped`], [`offset`]). Players
//! fly a [`Ship`] ([`steer`]), fire shots ([`fly`]) and split asteroids into smaller ones ([`split`]).

mod asteroid;
mod autopilot;
mod scores;
mod ship;
mod shot;
mod space;
mod standing;
mod trial;
mod wave;

pub use asteroid::{Asteroid, AsteroidSize, drift, split};
pub use autopilot::autopilot;
pub use scores::{Explosion, ExplosionKind, HIGH_SCORES_MAX, HighScore, HighScores};
pub use ship::{Controls, Maneuver, Ship, steer};
pub use shot::{Shot, fly, meets};
pub use space::{HEIGHT, WIDTH, is_near, offset, wrapped};
pub use standing::{PlayStatus, Standing, lives_earned};
pub use trial::trial;
pub use wave::{ASTEROIDS_LARGE_MAX, Wave, asteroids_of};

/// Ticks per second.
pub const TICK_HZ: u32 = 60;
/// Duration of a tick.
pub const STEP_SECONDS: f32 = 1.0 / TICK_HZ as f32;
/// Radius of a ship, for collisions.
pub const SHIP_RADIUS: f32 = 13.0;
/// Acceleration of a ship, in units per second squared.
pub const THRUST: f32 = 300.0;
/// Share of its speed that a ship loses in a second.
pub const DRAG: f32 = 0.45;
/// Maximum speed of a ship, in units a second.
pub const SPEED_MAX: f32 = 420.0;
/// Speed of turning, in radians a second.
pub const TURN: f32 = 3.9;
/// Speed of a shot relative to its ship, in units a second.
pub const SHOT_SPEED: f32 = 600.0;
/// Number of steps that a shot flies: nine tenths of a second.
pub const SHOT_STEPS: u8 = 54;
/// Number of steps between two shots of a ship: five shots a second.
pub const RELOAD_STEPS: u8 = 12;
/// Number of lives at the start of a game.
pub const LIVES_START: u8 = 3;
/// Maximum number of lives.
pub const LIVES_MAX: u8 = 9;
/// Points for each additional life.
pub const LIFE_POINTS: u32 = 5_000;
/// Points for the ship of another player.
pub const SHIP_POINTS: u32 = 200;
/// Protection after a respawn: three seconds.
pub const PROTECTED_TICKS: u32 = 3 * TICK_HZ;
/// Maximum length of a name, in bytes.
pub const NAME_BYTES_MAX: usize = 16;
