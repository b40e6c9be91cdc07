//! What a room type sets about space, and what is wrong with a bad setting.

use std::fmt;

/// How far a viewer sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterestSettings {
    /// An entity comes into view at this distance or nearer. Default 200 units. The cost of an
    /// update and the bytes sent grow with its square.
    pub radius: f32,
    /// An entity leaves only beyond `radius * (1 + hysteresis)`, so that one which moves along the
    /// border does not come and go every tick. Default 0.1, which is 10 %.
    pub hysteresis: f32,
    /// At most this many entities are in view by their place, the nearest ones. Default none.
    /// It bounds the bytes in a crowd, and costs a selection per viewer that has more in reach.
    pub nearest_max: Option<usize>,
}

impl Default for InterestSettings {
    fn default() -> Self {
        Self { radius: 200.0, hysteresis: 0.1, nearest_max: None }
    }
}

impl InterestSettings {
    /// Tells what is wrong, if something is: the radius must be finite and positive, the hysteresis
    /// finite and not negative, and the outer radius that follows from them finite when squared.
    pub fn validate(&self) -> Result<(), InterestSettingsError> {
        if !is_length(self.radius) {
            return Err(InterestSettingsError::Radius);
        }
        if !(self.hysteresis >= 0.0 && is_length(self.outer_radius())) {
            return Err(InterestSettingsError::Hysteresis);
        }
        Ok(())
    }

    /// The distance beyond which an entity leaves.
    pub fn outer_radius(&self) -> f32 {
        self.radius * (1.0 + self.hysteresis)
    }
}

/// The part of the plane where a world's entities usually are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorldBounds {
    /// The lower corner.
    pub min: [f32; 2],
    /// The upper corner.
    pub max: [f32; 2],
}

impl Default for WorldBounds {
    /// The square from -1000 to 1000.
    fn default() -> Self {
        Self { min: [-1000.0; 2], max: [1000.0; 2] }
    }
}

impl WorldBounds {
    /// Tells whether the corners are finite and in order, with some length between them.
    pub fn validate(&self) -> Result<(), InterestSettingsError> {
        let is_ordered = |axis: usize| is_length(self.max[axis] - self.min[axis]);
        if is_ordered(0) && is_ordered(1) { Ok(()) } else { Err(InterestSettingsError::Bounds) }
    }
}

/// Why settings were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterestSettingsError {
    /// The radius is not finite and positive.
    Radius,
    /// The hysteresis is negative or not finite.
    Hysteresis,
    /// The bounds are not finite, or not in order.
    Bounds,
}

impl fmt::Display for InterestSettingsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Radius => "the radius must be finite and greater than zero",
            Self::Hysteresis => "the hysteresis must be finite and not negative",
            Self::Bounds => "the bounds must be finite, each minimum below its maximum",
        })
    }
}

impl std::error::Error for InterestSettingsError {}

/// A length is usable when it is positive and its square neither overflows nor vanishes, because
/// queries compare squares.
pub(crate) fn is_length(length: f32) -> bool {
    length > 0.0 && (length * length).is_normal()
}
