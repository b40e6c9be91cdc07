//! Outlines of what is drawn, in units around a center.

use aether::libm::{cosf, sinf};
use aether::prelude::*;
use aether_asteroids_rules::AsteroidSize;
use std::f32::consts::TAU;

/// Corners of a ship that points to the right.
const SHIP: [[f32; 2]; 4] = [[22.0, 0.0], [-15.0, 13.0], [-8.0, 0.0], [-15.0, -13.0]];
/// Number of corners of an asteroid, by size.
const CORNERS: [usize; 3] = [13, 10, 8];
/// Maximum speed of an asteroid's rotation, in radians a second.
const SPIN_MAX: f32 = 0.7;

/// Returns the outline of a ship.
pub fn ship(heading: f32) -> Vec<[f32; 2]> {
    SHIP.iter().map(|corner| turned(*corner, heading)).collect()
}

/// Returns the flame of a ship: a line from the engine and back, whose length flickers.
pub fn flame(heading: f32, seconds: f32) -> [[f32; 2]; 3] {
    let length = 26.0 + 7.0 * sinf(seconds * 47.0) + 3.0 * sinf(seconds * 71.0);
    [[-10.0, 6.0], [-length, 0.0], [-10.0, -6.0]].map(|corner| turned(corner, heading))
}

/// Returns the outline of an asteroid. Its key decides its form and its rotation.
pub fn asteroid(key: u64, size: AsteroidSize, seconds: f32) -> Vec<[f32; 2]> {
    let mut random = Random::new(key);
    let corners = CORNERS[size as usize];
    let turn = random.unit() * TAU + random.between(-SPIN_MAX, SPIN_MAX) * seconds;
    let corner = |index: usize| {
        let angle = turn + (index as f32 + random.between(-0.25, 0.25)) / corners as f32 * TAU;
        let radius = size.radius() * if random.chance(22) { 0.66 } else { random.between(0.88, 1.06) };
        [cosf(angle) * radius, sinf(angle) * radius]
    };
    (0..corners).map(corner).collect()
}

/// Returns craters of an asteroid: centers and radii.
pub fn craters(key: u64, size: AsteroidSize, seconds: f32) -> Vec<([f32; 2], f32)> {
    let mut random = Random::new(key);
    let turn = random.unit() * TAU + random.between(-SPIN_MAX, SPIN_MAX) * seconds;
    let mut random = Random::new(!key);
    let count = match size {
        AsteroidSize::Large => 3,
        AsteroidSize::Medium => 1,
        AsteroidSize::Small => 0,
    };
    let crater = |index: u32| {
        let angle = turn + (index as f32 + random.unit() * 0.7) / count as f32 * TAU;
        let distance = size.radius() * random.between(0.2, 0.5);
        ([cosf(angle) * distance, sinf(angle) * distance], size.radius() * random.between(0.1, 0.2))
    };
    (0..count).map(crater).collect()
}

/// Rotates a vector.
pub fn turned([x, y]: [f32; 2], angle: f32) -> [f32; 2] {
    let (cos, sin) = (cosf(angle), sinf(angle));
    [x * cos - y * sin, x * sin + y * cos]
}
