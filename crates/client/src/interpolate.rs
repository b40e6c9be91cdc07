//! Values between two values.

use aether_wire::Vector2;
use std::f32::consts::TAU;

/// A value that can be shown between two others, beyond them, and moved aside by the difference of two.
///
/// One operation carries all three: [`Interpolate::moved`]. A game implements it for what it draws, field by field; what
/// cannot lie between, such as a colour or a name, is taken from `self` as it is.
///
/// ```
/// use aether_client::{Angle, Interpolate};
///
/// #[derive(Clone)]
/// struct Ship { position: [f32; 2], heading: Angle, colour: u8 }
///
/// impl Interpolate for Ship {
///     fn moved(&self, from: &Self, to: &Self, share: f32) -> Self {
///         Ship {
///             position: self.position.moved(&from.position, &to.position, share),
///             heading: self.heading.moved(&from.heading, &to.heading, share),
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
    /// This value, moved by a share of the way that leads from one value to another. The share is most often from 0 to 1,
    /// and beyond 1 when motion is carried on.
    #[must_use]
    fn moved(&self, from: &Self, to: &Self, share: f32) -> Self;

    /// How far apart two values are, in the units that the thresholds of the settings are given in.
    fn distance(&self, other: &Self) -> f32;

    /// The value that lies at a share of the way from this one to another.
    #[must_use]
    fn between(&self, to: &Self, share: f32) -> Self {
        self.moved(self, to, share)
    }
}

/// An angle in radians. It turns the short way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Angle(pub f32);

/// The way from one place to another on a circle of this length, the short way round: from minus half of it to half of it.
/// It is for angles, and for worlds whose edges meet.
#[must_use]
pub fn wrapped_difference(from: f32, to: f32, length: f32) -> f32 {
    let way = to - from;
    way - (way / length).round() * length
}

impl Interpolate for f32 {
    fn moved(&self, from: &Self, to: &Self, share: f32) -> Self {
        self + (to - from) * share
    }

    fn distance(&self, other: &Self) -> f32 {
        (self - other).abs()
    }
}

impl<const N: usize> Interpolate for [f32; N] {
    fn moved(&self, from: &Self, to: &Self, share: f32) -> Self {
        std::array::from_fn(|axis| self[axis] + (to[axis] - from[axis]) * share)
    }

    fn distance(&self, other: &Self) -> f32 {
        self.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt()
    }
}

impl Interpolate for Vector2 {
    fn moved(&self, from: &Self, to: &Self, share: f32) -> Self {
        let [x, y] = [self.x, self.y].moved(&[from.x, from.y], &[to.x, to.y], share);
        Vector2 { x, y }
    }

    fn distance(&self, other: &Self) -> f32 {
        [self.x, self.y].distance(&[other.x, other.y])
    }
}

impl Interpolate for Angle {
    fn moved(&self, from: &Self, to: &Self, share: f32) -> Self {
        Angle(self.0 + wrapped_difference(from.0, to.0, TAU) * share)
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
    fn numbers_and_vectors_go_straight() {
        assert_eq!(2.0.between(&4.0, 0.25), 2.5);
        assert_eq!([0.0, 10.0, 1.0].between(&[2.0, 0.0, 1.0], 0.5), [1.0, 5.0, 1.0]);
        assert_eq!([3.0, 0.0].distance(&[0.0, 4.0]), 5.0);
        let (from, to) = (Vector2 { x: 1.0, y: 1.0 }, Vector2 { x: 3.0, y: 5.0 });
        assert_eq!(from.between(&to, 1.5), Vector2 { x: 4.0, y: 7.0 });
    }

    #[test]
    fn an_angle_turns_the_short_way() {
        let middle = Angle(PI - 0.1).between(&Angle(-PI + 0.1), 0.5);
        assert!(middle.distance(&Angle(PI)) < 1e-5, "{middle:?}");
        assert!((Angle(0.1).distance(&Angle(TAU - 0.1)) - 0.2).abs() < 1e-5);
        assert!((wrapped_difference(990.0, -990.0, 2000.0) - 20.0).abs() < 1e-3, "a world whose edges meet");
    }

    #[test]
    fn a_value_is_moved_aside_by_the_difference_of_two_others() {
        assert_eq!([10.0, 10.0].moved(&[1.0, 0.0], &[3.0, 4.0], 0.5), [11.0, 12.0]);
        assert!((Angle(1.0).moved(&Angle(PI - 0.1), &Angle(-PI + 0.1), 1.0).0 - 1.2).abs() < 1e-5);
    }
}
