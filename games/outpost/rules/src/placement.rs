//! Rules of building. The server decides with them, and a client previews the decision.

use crate::{CELL, Cell, Kind, RADIUS, REACH, STRUCTURES_PER_PLAYER_MAX, Surroundings, is_near};

/// Radius around the center in which nothing can be built, because players spawn there.
pub const SPAWN_AREA: f32 = 16.0;

/// Builder and its surroundings.
#[derive(Clone, Copy, Debug)]
pub struct Builder<'a, S> {
    /// Existing structures.
    pub surroundings: &'a S,
    /// Position of the builder.
    pub position: [f32; 2],
    /// Material of the builder.
    pub material: i32,
    /// Number of structures of the builder.
    pub structures: u32,
    /// Positions of nearby people, including the builder.
    pub people: &'a [[f32; 2]],
}

/// Reason why something cannot be built or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The cell does not exist.
    Outside,
    /// The cell is too far away.
    TooFar,
    /// The cell is in the spawn area.
    SpawnArea,
    /// The cell has a structure.
    Occupied,
    /// A player stands on the cell.
    SomeoneThere,
    /// The builder has reached the maximum number of structures.
    TooMany,
    /// The builder has too little material.
    TooExpensive,
    /// The cell has no structure.
    Nothing,
    /// Another player built the structure.
    NotYours,
}

/// Preview of building at the pointer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preview {
    /// Cell at the pointer, if inside the world.
    pub cell: Option<Cell>,
    /// Reason for a rejection, or `None` if it is allowed.
    pub obstacle: Option<Obstacle>,
}

impl Obstacle {
    /// Returns the sentence for the player.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Obstacle::Outside => "that is outside the world",
            Obstacle::TooFar => "that is too far away; move closer",
            Obstacle::SpawnArea => "this is the spawn area; build farther out",
            Obstacle::Occupied => "the cell is already occupied",
            Obstacle::SomeoneThere => "a player stands there; wait until they move",
            Obstacle::TooMany => "you have too many structures; remove one first",
            Obstacle::TooExpensive => "you have too little material; it grows over time",
            Obstacle::Nothing => "there is nothing to remove",
            Obstacle::NotYours => "another player built that",
        }
    }
}

/// Checks whether a builder may build on a cell.
pub fn can_place<S: Surroundings>(builder: &Builder<'_, S>, cell: Cell, kind: Kind) -> Result<(), Obstacle> {
    let cell = Cell::new(cell.column, cell.row).ok_or(Obstacle::Outside)?;
    let middle = cell.middle();
    let checks = [
        (is_near(builder.position, middle, REACH), Obstacle::TooFar),
        (!is_near(middle, [0.0; 2], SPAWN_AREA + CELL), Obstacle::SpawnArea),
        (builder.surroundings.structure_at(cell).is_none(), Obstacle::Occupied),
        (!builder.people.iter().any(|person| is_on(*person, middle)), Obstacle::SomeoneThere),
        (builder.structures < STRUCTURES_PER_PLAYER_MAX, Obstacle::TooMany),
        (builder.material >= kind.cost(), Obstacle::TooExpensive),
    ];
    match checks.into_iter().find(|(holds, _)| !holds) {
        Some((_, obstacle)) => Err(obstacle),
        None => Ok(()),
    }
}

/// Checks whether a builder may remove the structure on a cell; `is_own` is true if it built it.
pub fn can_remove<S: Surroundings>(builder: &Builder<'_, S>, cell: Cell, is_own: bool) -> Result<Kind, Obstacle> {
    let cell = Cell::new(cell.column, cell.row).ok_or(Obstacle::Outside)?;
    let kind = builder.surroundings.structure_at(cell).ok_or(Obstacle::Nothing)?;
    match (is_own, is_near(builder.position, cell.middle(), REACH)) {
        (false, _) => Err(Obstacle::NotYours),
        (true, false) => Err(Obstacle::TooFar),
        (true, true) => Ok(kind),
    }
}

/// Returns the preview of building at the pointer.
pub fn preview<S: Surroundings>(builder: &Builder<'_, S>, pointer: [f32; 2], kind: Kind) -> Preview {
    let cell = Cell::at(pointer);
    let obstacle = match cell {
        Some(cell) => can_place(builder, cell, kind).err(),
        None => Some(Obstacle::Outside),
    };
    Preview { cell, obstacle }
}

/// Returns whether a person overlaps the cell with this center.
fn is_on(person: [f32; 2], middle: [f32; 2]) -> bool {
    (0..2).all(|axis| (person[axis] - middle[axis]).abs() < CELL / 2.0 + RADIUS)
}
