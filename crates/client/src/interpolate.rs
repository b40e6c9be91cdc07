//! Interpolation between values.

use aether_wire::Vector2;
use std::f32::consts::TAU;

/// Value that can be interpolated, extrapolated and offset.
///
/// [`Interpolate::moved`] does all three. A game implements it for the states that it draws, field by field. Fields
/// that cannot be interpolated, such as a colour or a name, are copied from `self`.
///
/// ```
/// use aether_client::{Angle, Interpolate};
///
/// #[derive(Clone)]
/// struct Ship { position: [f32; 2], heading: Angle, colour: u8 }
///
/// impl Interpolate for Ship {
///     fn moved(&self, from: &Self, to: &Self, fraction: f32) -> Self {
///         Ship {
///             position: self.position.moved(&from.position, &to.position, fraction),
///             heading: self.heading.moved(&from.heading, &to.heading, fraction),
///             colour: self.colour,
///         }
///     }
///
///     fn distance(&self, other: &Self) -> f32 {
///         self.position.distance(&other.position)
///     }
/// }
///
/// let before = Ship { position: [0.0, 0.0], heading: Angle(0.1), colour: 3 };
/// let after = Ship { position: [4.0, 2.0], heading: Angle(0.3), colour: 3 };
/// assert_eq!(before.between(&after, 0.5).position, [2.0, 1.0]);
/// ```
pub trait Interpolate: Clone {
    /// Returns `self + (to - from) * fraction`. The fraction is usually from 0 to 1, and larger than 1 for
    /// extrapolation.
    #[must_use]
    fn moved(&self, from: &Self, to: &Self, fraction: f32) -> Self;

    /// Distance of two values, in the units of the distances in [`ClientSettings`](crate::ClientSettings).
    fn distance(&self, other: &Self) -> f32;

    /// Interpolates from `self` to `to`.
    #[must_use]
    fn between(&self, to: &Self, fraction: f32) -> Self {
        self.moved(self, to, fraction)
    }
}

/// Angle in radians, interpolated along the shorter arc.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Angle(pub f32);

/// Shortest signed difference of two coordinates on a circle of this length: from minus half of it to half of it. For
/// angles, and for worlds that wrap around.
#[must_use]
pub fn wrapped_difference(from: f32, to: f32, length: f32) -> f32 {
    let difference = to - from;
    difference - (difference / length).round() * length
}

impl Interpolate for f32 {
    fn moved(&self, from: &Self, to: &Self, fraction: f32) -> Self {
        self + (to - from) * fraction
    }

    fn distance(&self, other: &Self) -> f32 {
        (self - other).abs()
    }
}

impl<const N: usize> Interpolate for [f32; N] {
    fn moved(&self, from: &Self, to: &Self, fraction: f32) -> Self {
        std::array::from_fn(|axis| self[axis] + (to[axis] - from[axis]) * fraction)
    }

    fn distance(&self, other: &Self) -> f32 {
        self.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt()
    }
}

impl Interpolate for Vector2 {
    fn moved(&self, from: &Self, to: &Self, fraction: f32) -> Self {
        let [x, y] = [self.x, self.y].moved(&[from.x, from.y], &[to.x, to.y], fraction);
        Vector2 { x, y }
    }

    fn distance(&self, other: &Self) -> f32 {
        [self.x, self.y].distance(&[other.x, other.y])
    }
}

impl Interpolate for Angle {
    fn moved(&self, from: &Self, to: &Self, fraction: f32) -> Self {
        Angle(self.0 + wrapped_difference(from.0, to.0, TAU) * fraction)
    }

    fn distance(&self, other: &Self) -> f32 {
        wrapped_difference(self.0, other.0, TAU).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f32::consts::PI;

    #[test]
    fn numbers_and_vectors_are_interpolated_linearly() {
        assert_eq!(2.0.between(&4.0, 0.25), 2.5);
        assert_eq!([0.0, 10.0, 1.0].between(&[2.0, 0.0, 1.0], 0.5), [1.0, 5.0, 1.0]);
        assert_eq!([3.0, 0.0].distance(&[0.0, 4.0]), 5.0);
        let (from, to) = (Vector2 { x: 1.0, y: 1.0 }, Vector2 { x: 3.0, y: 5.0 });
        assert_eq!(from.between(&to, 1.5), Vector2 { x: 4.0, y: 7.0 });
    }

    #[test]
    fn an_angle_turns_along_the_shorter_arc() {
        let middle = Angle(PI - 0.1).between(&Angle(-PI + 0.1), 0.5);
        assert!(middle.distance(&Angle(PI)) < 1e-5, "{middle:?}");
        assert!((Angle(0.1).distance(&Angle(TAU - 0.1)) - 0.2).abs() < 1e-5);
        assert!((wrapped_difference(990.0, -990.0, 2000.0) - 20.0).abs() < 1e-3, "a world that wraps around");
    }

    #[test]
    fn a_value_is_offset_by_the_difference_of_two_others() {
        assert_eq!([10.0, 10.0].moved(&[1.0, 0.0], &[3.0, 4.0], 0.5), [11.0, 12.0]);
        assert!((Angle(1.0).moved(&Angle(PI - 0.1), &Angle(-PI + 0.1), 1.0).0 - 1.2).abs() < 1e-5);
    }
}
