//! The world, which wraps around at its edges.

/// Width of the world.
pub const WIDTH: f32 = 2048.0;
/// Height of the world.
pub const HEIGHT: f32 = 1152.0;

/// Resolution of positions, as on the wire.
const STEPS_PER_UNIT: f32 = 64.0;

/// Rounds a position to the wire's grid and moves it into the world: from 0 up to, but not including, width and height.
/// NaN and infinity become zero.
#[must_use]
pub fn wrapped(position: [f32; 2]) -> [f32; 2] {
    [wrapped_axis(position[0], WIDTH), wrapped_axis(position[1], HEIGHT)]
}

/// Returns the shortest way from one position to another, across the seam if that is shorter.
#[must_use]
pub fn offset(from: [f32; 2], to: [f32; 2]) -> [f32; 2] {
    [offset_axis(from[0], to[0], WIDTH), offset_axis(from[1], to[1], HEIGHT)]
}

/// Returns whether two positions are within a distance of each other, on the shortest way.
#[must_use]
pub fn is_near(a: [f32; 2], b: [f32; 2], distance: f32) -> bool {
    let [x, y] = offset(a, b);
    x * x + y * y <= distance * distance
}

fn wrapped_axis(coordinate: f32, length: f32) -> f32 {
    // The grid comes first: rounding may reach the upper edge, which is the lower one.
    let rounded = (coordinate.rem_euclid(length) * STEPS_PER_UNIT).round() / STEPS_PER_UNIT;
    if rounded >= 0.0 && rounded < length { rounded } else { 0.0 }
}

fn offset_axis(from: f32, to: f32, length: f32) -> f32 {
    let difference = to - from;
    difference - (difference / length).round() * length
}
