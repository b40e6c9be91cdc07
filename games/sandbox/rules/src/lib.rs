//! Rules of the sandbox: pure and deterministic, the same on the server and in a client that predicts.

mod turning;

use aether::prelude::*;
pub use turning::{TURNING_TICKS, turning_hash, turning_hashes};

/// Acceleration of a thrusting ship, in units per second squared.
pub const THRUST: f32 = 60.0;
/// Turn rate, in radians a second.
pub const TURN: f32 = 3.5;
/// Share of its speed that a ship has left after a second.
pub const GLIDE: f32 = 0.55;
/// Maximum speed, in units a second.
pub const SPEED_MAX: f32 = 120.0;
/// Edge of the world on every side; coordinates wrap around.
pub const EDGE: f32 = 1000.0;
/// Speed of a shot relative to its ship, in units a second.
pub const SHOT_SPEED: f32 = 260.0;
/// Distance at which a shot hits.
pub const HIT_RADIUS: f32 = 8.0;
/// Flight time of a shot.
pub const SHOT_SECONDS: f32 = 1.2;
/// Time between two shots of a ship.
pub const RELOAD_SECONDS: f32 = 0.25;

/// Ship of a player.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "movement", position = position)]
pub struct Ship {
    /// Position of its center.
    #[replicate(range = -1000.0..=1000.0, step = 0.02, moves_by = velocity)]
    pub position: [f32; 2],
    /// Units a second.
    #[replicate(range = -128.0..=128.0, step = 0.02)]
    pub velocity: [f32; 2],
    /// Heading in radians.
    #[replicate(angle = 10)]
    pub heading: f32,
    /// Remaining hull, of 100.
    #[replicate(range = 0..=100, default = 100)]
    pub hull: i32,
    /// Colour, for drawing.
    pub colour: u8,
}

/// Input of one tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Replicate)]
pub struct Controls {
    /// True to accelerate forward.
    pub thrust: bool,
    /// True to turn counter-clockwise.
    pub left: bool,
    /// True to turn clockwise.
    pub right: bool,
    /// True to shoot.
    pub fire: bool,
}

/// Appearance of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Replicate)]
pub enum Look {
    /// A square.
    Crate,
    /// A round rock.
    Rock,
    /// A light.
    Beacon,
}

/// Floating object.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "things", position = position)]
pub struct Thing {
    /// Position of its center.
    #[replicate(range = -1000.0..=1000.0, step = 0.02)]
    pub position: [f32; 2],
    /// Rotation in radians.
    #[replicate(angle = 10)]
    pub rotation: f32,
    /// Appearance.
    pub look: Look,
    /// Angular velocity in radians a second. Not replicated, because clients see the rotation.
    #[replicate(skip)]
    pub spin: f32,
}

impl Thing {
    /// Turns it for `seconds`.
    pub fn turn(&mut self, seconds: f32) {
        self.rotation += self.spin * seconds;
    }
}

/// A shot.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "projectile", position = position)]
pub struct Shot {
    /// Current position.
    #[replicate(range = -1000.0..=1000.0, step = 0.02, moves_by = velocity)]
    pub position: [f32; 2],
    /// Units a second.
    #[replicate(range = -512.0..=512.0, step = 0.1)]
    pub velocity: [f32; 2],
    /// Remaining ticks.
    #[replicate(skip)]
    pub ticks_left: u32,
    /// Number of the player who fired it.
    #[replicate(skip)]
    pub shooter: u32,
}

/// Scoreboard that every player sees at any distance.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "presence")]
pub struct Scoreboard {
    /// Name of the leader.
    #[replicate(text = 24)]
    pub leader: String,
    /// Hits of the leader.
    pub hits: u16,
    /// Number of players in the room.
    pub players: u16,
}

/// Event: a player was hit. It is sent to the shooter and to players near the target.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "presence")]
pub struct Hit {
    /// Number of the player who fired.
    pub shooter: u32,
    /// Number of the player who was hit.
    pub target: u32,
    /// Remaining hull of the target.
    #[replicate(range = 0..=100)]
    pub hull: i32,
}

/// Moves a ship by `seconds`.
pub fn step(ship: &mut Ship, controls: Controls, seconds: f32) {
    let turn = f32::from(i8::from(controls.left) - i8::from(controls.right));
    ship.heading += turn * TURN * seconds;
    if controls.thrust {
        ship.velocity[0] += aether::libm::cosf(ship.heading) * THRUST * seconds;
        ship.velocity[1] += aether::libm::sinf(ship.heading) * THRUST * seconds;
    }
    let glide = aether::libm::powf(GLIDE, seconds);
    let speed = aether::libm::hypotf(ship.velocity[0], ship.velocity[1]);
    let factor = if speed * glide > SPEED_MAX { SPEED_MAX / speed } else { glide };
    for axis in 0..2 {
        ship.velocity[axis] *= factor;
        ship.position[axis] = wrap(ship.position[axis] + ship.velocity[axis] * seconds);
    }
}

/// Returns the shot that a ship fires.
#[must_use]
pub fn fire(ship: &Ship, shooter: u32, ticks: u32) -> Shot {
    let (x, y) = (aether::libm::cosf(ship.heading), aether::libm::sinf(ship.heading));
    let nose = HIT_RADIUS * 1.5;
    Shot {
        position: [wrap(ship.position[0] + x * nose), wrap(ship.position[1] + y * nose)],
        velocity: [ship.velocity[0] + x * SHOT_SPEED, ship.velocity[1] + y * SHOT_SPEED],
        ticks_left: ticks,
        shooter,
    }
}

/// Wraps a coordinate around the world's edge.
#[must_use]
pub fn wrap(coordinate: f32) -> f32 {
    if coordinate > EDGE {
        coordinate - 2.0 * EDGE
    } else if coordinate < -EDGE {
        coordinate + 2.0 * EDGE
    } else {
        coordinate
    }
}

/// Returns whether two positions are within a distance of each other.
#[must_use]
pub fn is_near(a: [f32; 2], b: [f32; 2], distance: f32) -> bool {
    let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
    dx * dx + dy * dy <= distance * distance
}
