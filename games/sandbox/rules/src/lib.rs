//! The sandbox's rules: pure and deterministic, the same on the server and in a client that predicts.

use aether_bits::Replicate;

/// Units a second, every second that a ship thrusts.
pub const THRUST: f32 = 60.0;
/// Radians a second.
pub const TURN: f32 = 3.5;
/// The share of its speed that a ship keeps over a second.
pub const GLIDE: f32 = 0.55;
/// Units a second, at most.
pub const SPEED_MAX: f32 = 120.0;
/// The world ends here on every side; what flies out comes in at the other.
pub const EDGE: f32 = 1000.0;
/// Units a second.
pub const SHOT_SPEED: f32 = 260.0;
/// How near a shot must come to hit.
pub const HIT_RADIUS: f32 = 8.0;
/// How long a shot flies.
pub const SHOT_SECONDS: f32 = 1.2;
/// How long a ship waits between two shots.
pub const RELOAD_SECONDS: f32 = 0.25;

/// A player's ship.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "movement", position = position)]
pub struct Ship {
    /// Where it is.
    #[replicate(range = -1000.0..=1000.0, step = 0.02, moves_by = velocity)]
    pub position: [f32; 2],
    /// Units a second.
    #[replicate(range = -128.0..=128.0, step = 0.02)]
    pub velocity: [f32; 2],
    /// Where its nose points, in radians.
    #[replicate(angle = 10)]
    pub heading: f32,
    /// What is left of it, of 100.
    #[replicate(range = 0..=100, default = 100)]
    pub hull: i32,
    /// Its colour, for whoever draws it.
    pub colour: u8,
}

/// What a player holds down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Replicate)]
pub struct Controls {
    /// Forward.
    pub thrust: bool,
    /// Counter-clockwise.
    pub left: bool,
    /// Clockwise.
    pub right: bool,
    /// Shoot.
    pub fire: bool,
}

/// What a thing looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Replicate)]
pub enum Look {
    /// A square.
    Crate,
    /// A round rock.
    Rock,
    /// A light.
    Beacon,
}

/// Something that floats about.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "things", position = position)]
pub struct Thing {
    /// Where it is.
    #[replicate(range = -1000.0..=1000.0, step = 0.02)]
    pub position: [f32; 2],
    /// Its rotation in radians.
    #[replicate(angle = 10)]
    pub rotation: f32,
    /// What it looks like.
    pub look: Look,
    /// How fast it turns, in radians a second. Clients see the rotation and need not know.
    #[replicate(skip)]
    pub spin: f32,
}

/// A shot.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "projectile", position = position)]
pub struct Shot {
    /// Where it is.
    #[replicate(range = -1000.0..=1000.0, step = 0.02, moves_by = velocity)]
    pub position: [f32; 2],
    /// Units a second.
    #[replicate(range = -512.0..=512.0, step = 0.1)]
    pub velocity: [f32; 2],
    /// How many ticks it has left.
    #[replicate(skip)]
    pub ticks_left: u32,
    /// The number of the player who fired it.
    #[replicate(skip)]
    pub shooter: u32,
}

/// What everyone sees wherever they are.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "presence")]
pub struct Scoreboard {
    /// Who leads.
    #[replicate(text = 24)]
    pub leader: String,
    /// With how many hits.
    pub hits: u16,
    /// How many players are in.
    pub players: u16,
}

/// Someone was hit.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "presence")]
pub struct Hit {
    /// The player who fired.
    pub shooter: u32,
    /// The player who was hit.
    pub target: u32,
    /// What is left of the target.
    #[replicate(range = 0..=100)]
    pub hull: i32,
}

/// Moves a ship on by `seconds`.
pub fn step(ship: &mut Ship, controls: Controls, seconds: f32) {
    let turn = f32::from(i8::from(controls.left) - i8::from(controls.right));
    ship.heading += turn * TURN * seconds;
    if controls.thrust {
        ship.velocity[0] += libm::cosf(ship.heading) * THRUST * seconds;
        ship.velocity[1] += libm::sinf(ship.heading) * THRUST * seconds;
    }
    let glide = libm::powf(GLIDE, seconds);
    let speed = libm::hypotf(ship.velocity[0], ship.velocity[1]);
    let keep = if speed * glide > SPEED_MAX { SPEED_MAX / speed } else { glide };
    for axis in 0..2 {
        ship.velocity[axis] *= keep;
        ship.position[axis] = wrap(ship.position[axis] + ship.velocity[axis] * seconds);
    }
}

/// The shot that a ship fires.
#[must_use]
pub fn fire(ship: &Ship, shooter: u32, ticks: u32) -> Shot {
    let (x, y) = (libm::cosf(ship.heading), libm::sinf(ship.heading));
    let nose = HIT_RADIUS * 1.5;
    Shot {
        position: [wrap(ship.position[0] + x * nose), wrap(ship.position[1] + y * nose)],
        velocity: [ship.velocity[0] + x * SHOT_SPEED, ship.velocity[1] + y * SHOT_SPEED],
        ticks_left: ticks,
        shooter,
    }
}

/// A coordinate that left the world comes in at the other side.
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

/// Whether two places are within a distance of each other.
#[must_use]
pub fn is_near(a: [f32; 2], b: [f32; 2], distance: f32) -> bool {
    let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
    dx * dx + dy * dy <= distance * distance
}
