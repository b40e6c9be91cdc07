//! Asteroids.

use crate::{STEP_SECONDS, wrapped};
use aether::libm::{cosf, sinf};
use aether::prelude::*;
use std::f32::consts::TAU;

/// Speed of the parts of a split away from each other, in units a second.
const SPLIT_SPEED: f32 = 42.0;
/// Maximum speed of an asteroid on each axis, in units a second.
const SPEED_MAX: f32 = 180.0;

/// Size of an asteroid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Replicate)]
pub enum AsteroidSize {
    /// Splits into two of medium size.
    Large,
    /// Splits into two small ones.
    Medium,
    /// Does not split.
    Small,
}

/// An asteroid. Its velocity is a multiple of the grid's step per tick, so it drifts exactly straight.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "asteroids", position = position)]
pub struct Asteroid {
    /// Position of its center.
    #[replicate(range = 0.0..=2048.0, step = 0.015625, moves_by = velocity)]
    pub position: [f32; 2],
    /// Units a second.
    #[replicate(range = -225.0..=225.0, step = 0.9375)]
    pub velocity: [f32; 2],
    /// Its size.
    pub size: AsteroidSize,
}

impl AsteroidSize {
    /// Returns the radius.
    #[must_use]
    pub fn radius(self) -> f32 {
        match self {
            AsteroidSize::Large => 64.0,
            AsteroidSize::Medium => 36.0,
            AsteroidSize::Small => 20.0,
        }
    }

    /// Returns the points for destroying it.
    #[must_use]
    pub fn points(self) -> u32 {
        match self {
            AsteroidSize::Large => 20,
            AsteroidSize::Medium => 50,
            AsteroidSize::Small => 100,
        }
    }

    /// Returns the size of its parts, or `None` if it does not split.
    #[must_use]
    pub fn smaller(self) -> Option<AsteroidSize> {
        match self {
            AsteroidSize::Large => Some(AsteroidSize::Medium),
            AsteroidSize::Medium => Some(AsteroidSize::Small),
            AsteroidSize::Small => None,
        }
    }
}

impl Asteroid {
    /// Creates an asteroid that drifts in a direction.
    #[must_use]
    pub fn at(position: [f32; 2], velocity: [f32; 2], size: AsteroidSize) -> Asteroid {
        let velocity = velocity.map(|part| part.clamp(-SPEED_MAX, SPEED_MAX));
        let mut asteroid = Asteroid { position: wrapped(position), velocity, size };
        asteroid.snap();
        asteroid
    }
}

/// Moves an asteroid by one step.
pub fn drift(asteroid: &mut Asteroid) {
    asteroid.snap();
    asteroid.position = wrapped([0, 1].map(|axis| asteroid.position[axis] + asteroid.velocity[axis] * STEP_SECONDS));
}

/// Returns the two parts of an asteroid, or `None` if it is small. They fly apart in a random direction, a little
/// faster than the whole.
#[must_use]
pub fn split(asteroid: &Asteroid, random: &mut Random) -> Option<[Asteroid; 2]> {
    let size = asteroid.size.smaller()?;
    let angle = random.unit() * TAU;
    let push = [cosf(angle), sinf(angle)];
    let part = |side: f32| {
        let velocity = [0, 1].map(|axis| asteroid.velocity[axis] * 1.1 + push[axis] * side * SPLIT_SPEED);
        let position = [0, 1].map(|axis| asteroid.position[axis] + push[axis] * side * size.radius() * 0.5);
        Asteroid::at(position, velocity, size)
    };
    Some([part(1.0), part(-1.0)])
}
