//! Blobs, one at a time or two.

use crate::{EDGE, MASS_MAX, MERGE_TICKS, SPLIT_MASS_MIN, SPLIT_SPEED};
use aether_bits::Replicate;

/// The radius of a blob of mass 1.
const RADIUS: f32 = 4.0;
/// The speed of a blob of mass 1, in units a second.
const SPEED: f32 = 380.0;
/// The share of a thrust that is left after a step.
const THRUST_KEPT: f32 = 0.86;
/// Below this a thrust is over, in units a second.
const THRUST_MIN: f32 = 4.0;
/// How deep a prey must be in its eater, in shares of its own radius.
const SWALLOWED: f32 = 0.4;

/// A blob.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "movement", position = position)]
pub struct Blob {
    /// Where its middle is.
    #[replicate(range = -1000.0..=1000.0, step = 0.0625, moves_by = velocity)]
    pub position: [f32; 2],
    /// Units a second.
    #[replicate(range = -1024.0..=1024.0, step = 0.0625)]
    pub velocity: [f32; 2],
    /// How much it has eaten.
    #[replicate(range = 0..=50000, default = 20)]
    pub mass: u32,
    /// What is left of the speed with which it shot out of another, in units a second.
    #[replicate(skip)]
    pub thrust: [f32; 2],
    /// The tick from which on it may grow together with other parts of its eater.
    #[replicate(skip)]
    pub merges_at: u32,
}

/// Whose a blob is, and what it looks like.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "labels")]
pub struct Label {
    /// The number of the eater.
    pub eater: u32,
    /// The eater's name.
    #[replicate(text = 16)]
    pub name: String,
    /// The eater's colour, as an angle on the colour wheel.
    pub hue: u8,
}

/// What a player does in one tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Replicate)]
pub struct Steer {
    /// Where to, from the middle of all that is its own: one is [`crate::STEER_REACH`] units. Every blob goes there, and so
    /// they come together when there is near.
    #[replicate(range = -1.0..=1.0, step = 0.0078125)]
    pub aim: [f32; 2],
    /// Split. It counts when it begins, not for as long as it is held.
    pub split: bool,
}

/// A player wants another colour.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "labels")]
pub struct Paint {
    /// The colour, as an angle on the colour wheel.
    pub hue: u8,
}

impl Blob {
    /// A blob at rest.
    #[must_use]
    pub fn at(position: [f32; 2], mass: u32) -> Blob {
        Blob { position, velocity: [0.0; 2], mass, thrust: [0.0; 2], merges_at: 0 }
    }
}

/// How large a mass is.
#[must_use]
pub fn radius(mass: u32) -> f32 {
    RADIUS * (mass as f32).sqrt()
}

/// How fast a mass moves, in units a second.
#[must_use]
pub fn speed(mass: u32) -> f32 {
    SPEED / (mass.max(1) as f32).sqrt().sqrt()
}

/// A direction, made no longer than one. What is not a number points nowhere.
#[must_use]
pub fn heading(aim: [f32; 2]) -> [f32; 2] {
    let aim = aim.map(|part| if part.is_finite() { part } else { 0.0 });
    let length = (aim[0] * aim[0] + aim[1] * aim[1]).sqrt();
    if length > 1.0 { aim.map(|part| part / length) } else { aim }
}

/// Moves a blob on by a step, and snaps it to what the wire can say.
pub fn drive(blob: &mut Blob, aim: [f32; 2], seconds: f32) {
    let (aim, speed) = (heading(aim), speed(blob.mass));
    blob.velocity = [0, 1].map(|axis| aim[axis] * speed + blob.thrust[axis]);
    blob.position = [0, 1].map(|axis| (blob.position[axis] + blob.velocity[axis] * seconds).clamp(-EDGE, EDGE));
    let fade = |thrust: f32| if thrust.abs() < THRUST_MIN || !thrust.is_finite() { 0.0 } else { thrust * THRUST_KEPT };
    blob.thrust = blob.thrust.map(fade);
    blob.snap();
}

/// Splits a blob: half of it shoots out. Nothing if it is too light.
#[must_use]
pub fn split(blob: &mut Blob, aim: [f32; 2], now: u32) -> Option<Blob> {
    if blob.mass < SPLIT_MASS_MIN {
        return None;
    }
    let aim = heading(aim);
    let length = (aim[0] * aim[0] + aim[1] * aim[1]).sqrt();
    // Whoever steers nowhere splits to the right.
    let aim = if length > 0.0 { aim.map(|part| part / length) } else { [1.0, 0.0] };
    let half = blob.mass / 2;
    blob.mass -= half;
    blob.merges_at = now.saturating_add(MERGE_TICKS);
    Some(Blob { mass: half, thrust: aim.map(|part| part * SPLIT_SPEED), ..blob.clone() })
}

/// Whether a blob can eat another: it is heavier by a quarter, and has it inside.
#[must_use]
pub fn can_devour(eater: &Blob, prey: &Blob) -> bool {
    let is_heavier = u64::from(eater.mass) * 4 >= u64::from(prey.mass) * 5;
    let reach = radius(eater.mass) - SWALLOWED * radius(prey.mass);
    is_heavier && fits(eater, prey) && reach > 0.0 && is_within(eater.position, prey.position, reach)
}

/// Whether two parts of one eater grow together: both have waited, and their middles are in each other.
#[must_use]
pub fn can_merge(one: &Blob, other: &Blob, now: u32) -> bool {
    let reach = radius(one.mass.max(other.mass));
    now >= one.merges_at && now >= other.merges_at && fits(one, other) && is_within(one.position, other.position, reach)
}

fn fits(one: &Blob, other: &Blob) -> bool {
    u64::from(one.mass) + u64::from(other.mass) <= u64::from(MASS_MAX)
}

fn is_within(a: [f32; 2], b: [f32; 2], distance: f32) -> bool {
    let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
    dx * dx + dy * dy <= distance * distance
}
