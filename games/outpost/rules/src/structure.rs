//! What players build.

use aether_bits::Replicate;

/// The kinds of structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Replicate)]
pub enum Kind {
    /// Stops everything.
    Wall,
    /// Lets people through, and stops shots.
    Door,
    /// Stops people, and lets shots over.
    Fence,
    /// Stops everything, and shoots at everyone but its builder.
    Turret,
}

/// A structure.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "structures", position = position)]
pub struct Structure {
    /// The middle of its cell.
    #[replicate(range = -256.0..=256.0, step = 0.015625)]
    pub position: [f32; 2],
    /// What it is.
    pub kind: Kind,
    /// What is left of it.
    #[replicate(range = 0..=250, default = 100)]
    pub health: i32,
    /// The number of the player who built it, or zero while that player is away.
    pub builder: u32,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 4] = [Kind::Wall, Kind::Door, Kind::Fence, Kind::Turret];

    /// What it takes to build one.
    #[must_use]
    pub fn cost(self) -> i32 {
        match self {
            Kind::Wall => 6,
            Kind::Door => 8,
            Kind::Fence => 3,
            Kind::Turret => 40,
        }
    }

    /// What a new one has.
    #[must_use]
    pub fn health(self) -> i32 {
        match self {
            Kind::Wall => 200,
            Kind::Door => 100,
            Kind::Fence => 40,
            Kind::Turret => 120,
        }
    }

    /// Whether people cannot walk through it.
    #[must_use]
    pub fn stops_people(self) -> bool {
        self != Kind::Door
    }

    /// Whether shots end at it.
    #[must_use]
    pub fn stops_shots(self) -> bool {
        self != Kind::Fence
    }
}
