//! Controls of a ship that plays by itself.

use crate::{Asteroid, Controls, SHIP_RADIUS, SHOT_SPEED, SHOT_STEPS, STEP_SECONDS, Ship, offset};
use aether::libm::atan2f;
use std::f32::consts::{FRAC_PI_2, TAU};

/// Time in which an asteroid that comes nearer is a danger, in seconds.
const DANGER_SECONDS: f32 = 0.9;
/// Distance kept from asteroids in the way.
const MARGIN: f32 = 16.0;
/// Difference of direction that is small enough to stop turning, in radians.
const AIM_ERROR: f32 = 0.04;
/// Share of a shot's range within which it fires.
const RANGE_SHARE: f32 = 0.85;
/// Speed up to which it flies towards asteroids out of range, in units a second.
const CRUISE_SPEED: f32 = 150.0;

/// Returns the controls that shoot the most urgent asteroid, and evade one that is about to hit.
#[must_use]
pub fn autopilot<'a>(ship: &Ship, asteroids: impl IntoIterator<Item = &'a Asteroid>) -> Controls {
    let seen = asteroids.into_iter().map(|asteroid| Sighting::new(ship, asteroid));
    let Some(target) = seen.min_by(|a, b| a.urgency().total_cmp(&b.urgency())) else { return Controls::default() };
    let fire_range = SHOT_SPEED * f32::from(SHOT_STEPS) * STEP_SECONDS * RANGE_SHARE;
    let difference = turned(ship.heading, target.aim);
    let is_aimed = difference.abs() < target.width.max(AIM_ERROR);
    let is_in_range = target.gap < fire_range;
    let is_slow = length(ship.velocity) < CRUISE_SPEED;
    if target.is_danger() && !ship.is_protected {
        // It leaves at a right angle, to the side that it faces already.
        let away = target.direction + if turned(target.direction, ship.heading) > 0.0 { FRAC_PI_2 } else { -FRAC_PI_2 };
        let thrust = turned(ship.heading, away).abs() < FRAC_PI_2;
        return Controls { turn: turn_to(difference), thrust, fire: is_aimed };
    }
    Controls { turn: turn_to(difference), thrust: is_aimed && !is_in_range && is_slow, fire: is_aimed && is_in_range }
}

/// An asteroid, seen from the ship.
struct Sighting {
    /// Distance between the rims.
    gap: f32,
    /// Direction of its center, in radians.
    direction: f32,
    /// Direction in which a shot hits it, in radians.
    aim: f32,
    /// Half of its apparent width, in radians.
    width: f32,
    /// Speed at which it comes nearer, in units a second.
    approach: f32,
}

impl Sighting {
    fn new(ship: &Ship, asteroid: &Asteroid) -> Sighting {
        let way = offset(ship.position, asteroid.position);
        let distance = length(way).max(1.0);
        let relative = [0, 1].map(|axis| asteroid.velocity[axis] - ship.velocity[axis]);
        let seconds = distance / SHOT_SPEED;
        let ahead = [0, 1].map(|axis| way[axis] + relative[axis] * seconds);
        let approach = -(way[0] * relative[0] + way[1] * relative[1]) / distance;
        Sighting {
            gap: (distance - asteroid.size.radius() - SHIP_RADIUS).max(0.0),
            direction: atan2f(way[1], way[0]),
            aim: atan2f(ahead[1], ahead[0]),
            width: 0.7 * asteroid.size.radius() / distance,
            approach,
        }
    }

    /// Returns the estimated time to a collision, in seconds: lower values are more urgent.
    fn urgency(&self) -> f32 {
        self.gap / self.approach.max(60.0)
    }

    fn is_danger(&self) -> bool {
        self.approach > 0.0 && self.gap < MARGIN + self.approach * DANGER_SECONDS
    }
}

/// Returns the direction to turn by an angle.
fn turn_to(difference: f32) -> i8 {
    if difference.abs() < AIM_ERROR { 0 } else { difference.signum() as i8 }
}

/// Returns the shortest turn from one direction to another, in radians.
fn turned(from: f32, to: f32) -> f32 {
    let difference = to - from;
    difference - (difference / TAU).round() * TAU
}

fn length([x, y]: [f32; 2]) -> f32 {
    (x * x + y * y).sqrt()
}
