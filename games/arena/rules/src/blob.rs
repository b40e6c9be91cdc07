//! Rules of single blobs and of pairs.

use crate::{EDGE, MASS_MAX, MERGE_TICKS, SPLIT_MASS_MIN, SPLIT_SPEED};
use aether::prelude::*;

/// Radius of a blob of mass 1.
const RADIUS: f32 = 4.0;
/// Speed of a blob of mass 1, in units a second.
const SPEED: f32 = 380.0;
/// Share of a thrust that remains after a step.
const THRUST_REMAINING: f32 = 0.86;
/// Thrust below which it ends, in units a second.
const THRUST_MIN: f32 = 4.0;
/// Overlap needed to eat a prey, in shares of the prey's radius.
const SWALLOWED: f32 = 0.4;

/// A blob.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "movement", position = position)]
pub struct Blob {
    /// Center of the blob.
    #[replicate(range = -1000.0..=1000.0, step = 0.0625, moves_by = velocity)]
    pub position: [f32; 2],
    /// Units a second.
    #[replicate(range = -1024.0..=1024.0, step = 0.0625)]
    pub velocity: [f32; 2],
    /// Mass it has eaten.
    #[replicate(range = 0..=50000, default = 20)]
    pub mass: u32,
    /// Remaining speed of a split, in units a second.
    #[replicate(skip)]
    pub thrust: [f32; 2],
    /// First tick at which it may merge with other blobs of its eater.
    #[replicate(skip)]
    pub merges_at: u32,
}

/// Owner and look of a blob.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "labels")]
pub struct Label {
    /// Number of the eater.
    pub eater: u32,
    /// Name of the eater.
    #[replicate(text = 16)]
    pub name: String,
    /// Hue of the eater, as an angle on the colour wheel.
    pub hue: u8,
}

/// Input of one tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Replicate)]
pub struct Steer {
    /// Target relative to the center of the player's blobs; one is [`crate::STEER_REACH`] units. Every blob moves
    /// there, so blobs converge on a near target.
    #[replicate(range = -1.0..=1.0, step = 0.0078125)]
    pub aim: [f32; 2],
    /// Splits when the button goes down, once for each press.
    pub split: bool,
}

/// Message of a player that changes its colour.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "labels")]
pub struct Paint {
    /// Hue, as an angle on the colour wheel.
    pub hue: u8,
}

impl Blob {
    /// Creates a blob at rest.
    #[must_use]
    pub fn at(position: [f32; 2], mass: u32) -> Blob {
        Blob { position, velocity: [0.0; 2], mass, thrust: [0.0; 2], merges_at: 0 }
    }
}

/// Returns the radius of a mass.
#[must_use]
pub fn radius(mass: u32) -> f32 {
    RADIUS * (mass as f32).sqrt()
}

/// Returns the speed of a mass, in units a second.
#[must_use]
pub fn speed(mass: u32) -> f32 {
    SPEED / (mass.max(1) as f32).sqrt().sqrt()
}

/// Limits a direction to length one. NaN and infinity become zero.
#[must_use]
pub fn heading(aim: [f32; 2]) -> [f32; 2] {
    let aim = aim.map(|part| if part.is_finite() { part } else { 0.0 });
    let length = (aim[0] * aim[0] + aim[1] * aim[1]).sqrt();
    if length > 1.0 { aim.map(|part| part / length) } else { aim }
}

/// Moves a blob by one step and snaps it to the wire's grid.
pub fn drive(blob: &mut Blob, aim: [f32; 2], seconds: f32) {
    let (aim, speed) = (heading(aim), speed(blob.mass));
    blob.velocity = [0, 1].map(|axis| aim[axis] * speed + blob.thrust[axis]);
    blob.position = [0, 1].map(|axis| (blob.position[axis] + blob.velocity[axis] * seconds).clamp(-EDGE, EDGE));
    let fade =
        |thrust: f32| if thrust.abs() < THRUST_MIN || !thrust.is_finite() { 0.0 } else { thrust * THRUST_REMAINING };
    blob.thrust = blob.thrust.map(fade);
    blob.snap();
}

/// Splits a blob in half. Returns the part that shoots out, or `None` if the blob is too light.
#[must_use]
pub fn split(blob: &mut Blob, aim: [f32; 2], now: u32) -> Option<Blob> {
    if blob.mass < SPLIT_MASS_MIN {
        return None;
    }
    let aim = heading(aim);
    let length = (aim[0] * aim[0] + aim[1] * aim[1]).sqrt();
    // Without a direction, it splits to the right.
    let aim = if length > 0.0 { aim.map(|part| part / length) } else { [1.0, 0.0] };
    let half = blob.mass / 2;
    blob.mass -= half;
    blob.merges_at = now.saturating_add(MERGE_TICKS);
    Some(Blob { mass: half, thrust: aim.map(|part| part * SPLIT_SPEED), ..blob.clone() })
}

/// Returns whether a blob can eat another: it is heavier by a quarter and contains the prey.
#[must_use]
pub fn can_devour(eater: &Blob, prey: &Blob) -> bool {
    let is_heavier = u64::from(eater.mass) * 4 >= u64::from(prey.mass) * 5;
    let reach = radius(eater.mass) - SWALLOWED * radius(prey.mass);
    is_heavier && fits(eater, prey) && reach > 0.0 && is_within(eater.position, prey.position, reach)
}

/// Returns whether two blobs of one eater merge: both have waited, and one contains the other's center.
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
