//! Structures.

use aether::prelude::*;

/// Kinds of structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Replicate)]
pub enum Kind {
    /// Stops players and shots.
    Wall,
    /// Lets players through, stops shots.
    Door,
    /// Stops players, lets shots through.
    Fence,
    /// Stops players and shots, and shoots at everyone but its builder.
    Turret,
}

/// A structure.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "build", position = position)]
pub struct Structure {
    /// Center of its cell.
    #[replicate(range = -256.0..=256.0, step = 0.015625)]
    pub position: [f32; 2],
    /// Kind of the structure.
    pub kind: Kind,
    /// Remaining health.
    #[replicate(range = 0..=250, default = 100)]
    pub health: i32,
    /// Number of the builder, or zero while that player is away.
    pub builder: u32,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [Kind::Wall, Kind::Door, Kind::Fence, Kind::Turret];

    /// Returns the material cost.
    #[must_use]
    pub fn cost(self) -> i32 {
        match self {
            Kind::Wall => 6,
            Kind::Door => 8,
            Kind::Fence => 3,
            Kind::Turret => 40,
        }
    }

    /// Returns the initial health.
    #[must_use]
    pub fn health(self) -> i32 {
        match self {
            Kind::Wall => 200,
            Kind::Door => 100,
            Kind::Fence => 40,
            Kind::Turret => 120,
        }
    }

    /// Returns whether players cannot walk through it.
    #[must_use]
    pub fn stops_people(self) -> bool {
        self != Kind::Door
    }

    /// Returns whether shots end at it.
    #[must_use]
    pub fn stops_shots(self) -> bool {
        self != Kind::Fence
    }
}
