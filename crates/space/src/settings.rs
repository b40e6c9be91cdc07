//! Interest settings of a room type, and their validation.

use std::fmt;

/// Distances and limits of visibility.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterestSettings {
    /// Distance at which an entity becomes visible. Default 200 units. The cost of an update and the bytes sent grow
    /// with its square.
    pub radius: f32,
    /// An entity stays visible up to `radius * (1 + hysteresis)`, so that it does not flicker at the border. Default
    /// 0.1, which is 10 %.
    pub hysteresis: f32,
    /// Limit of entities that are visible by distance: the nearest ones. Default none. It bounds the bytes in a crowd,
    /// and costs a selection per viewer with more entities in range.
    pub nearest_max: Option<usize>,
}

impl Default for InterestSettings {
    fn default() -> Self {
        Self { radius: 200.0, hysteresis: 0.1, nearest_max: None }
    }
}

impl InterestSettings {
    /// Checks the settings. The radius must be finite and positive, the hysteresis finite and not negative, and the
    /// square of the outer radius finite.
    pub fn validate(&self) -> Result<(), InterestSettingsError> {
        if !is_length(self.radius) {
            return Err(InterestSettingsError::Radius);
        }
        if !(self.hysteresis >= 0.0 && is_length(self.outer_radius())) {
            return Err(InterestSettingsError::Hysteresis);
        }
        Ok(())
    }

    /// Distance beyond which an entity is no longer visible.
    pub fn outer_radius(&self) -> f32 {
        self.radius * (1.0 + self.hysteresis)
    }
}

/// Spatial index of a room type. Both find the same entities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexKind {
    /// [`Grid`](crate::Grid): the faster one if the entities are within the bounds.
    #[default]
    Grid,
    /// [`Quadtree`](crate::Quadtree): for entities that may be anywhere.
    Quadtree,
}

/// Part of the plane that usually contains the entities of a world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorldBounds {
    /// Lower corner.
    pub min: [f32; 2],
    /// Upper corner.
    pub max: [f32; 2],
}

impl Default for WorldBounds {
    /// The square from -1000 to 1000.
    fn default() -> Self {
        Self { min: [-1000.0; 2], max: [1000.0; 2] }
    }
}

impl WorldBounds {
    /// Checks that the corners are finite and that each minimum is below its maximum.
    pub fn validate(&self) -> Result<(), InterestSettingsError> {
        let is_ordered = |axis: usize| is_length(self.max[axis] - self.min[axis]);
        if is_ordered(0) && is_ordered(1) { Ok(()) } else { Err(InterestSettingsError::Bounds) }
    }
}

/// Error in interest settings.
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

/// True if a length is positive and its square neither overflows nor underflows: queries compare squares.
pub(crate) fn is_length(length: f32) -> bool {
    length > 0.0 && (length * length).is_normal()
}
