//! Where a player may build. The server decides with these rules, and a client shows with them what it would decide.

use crate::{CELL, Cell, Kind, RADIUS, REACH, STRUCTURES_PER_PLAYER_MAX, Surroundings, is_near};

/// Nothing is built within this distance of the middle of the world, because players begin there.
pub const SPAWN_AREA: f32 = 16.0;

/// Who builds, and what stands in the way.
#[derive(Clone, Copy, Debug)]
pub struct Builder<'a, S> {
    /// What is built already.
    pub surroundings: &'a S,
    /// Where the builder stands.
    pub place: [f32; 2],
    /// What the builder has to build with.
    pub material: i32,
    /// How many structures of the builder stand.
    pub structures: u32,
    /// Where people are who are near enough to matter, the builder among them.
    pub people: &'a [[f32; 2]],
}

/// Why something cannot be built or taken down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// There is no such cell.
    Outside,
    /// The cell is too far away.
    TooFar,
    /// Players begin there.
    SpawnArea,
    /// Something stands there.
    Occupied,
    /// Someone stands there.
    SomeoneThere,
    /// The builder has as many structures as one may have.
    TooMany,
    /// The builder has too little material.
    TooExpensive,
    /// Nothing stands there.
    Nothing,
    /// Someone else built it.
    NotYours,
}

/// What a client shows under the pointer before anything is built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preview {
    /// The cell under the pointer, if that is in the world.
    pub cell: Option<Cell>,
    /// Why it would be refused; nothing if it would not.
    pub obstacle: Option<Obstacle>,
}

impl Obstacle {
    /// What to tell the player.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Obstacle::Outside => "the world ends before that",
            Obstacle::TooFar => "that is too far away: come closer",
            Obstacle::SpawnArea => "everyone begins here: build farther out",
            Obstacle::Occupied => "something stands there already",
            Obstacle::SomeoneThere => "someone stands there: wait until they have gone",
            Obstacle::TooMany => "you have built as much as one may: take something down first",
            Obstacle::TooExpensive => "you have too little material: it comes with time",
            Obstacle::Nothing => "nothing stands there",
            Obstacle::NotYours => "someone else built that",
        }
    }
}

/// Whether someone may build on a cell.
pub fn can_place<S: Surroundings>(builder: &Builder<'_, S>, cell: Cell, kind: Kind) -> Result<(), Obstacle> {
    let cell = Cell::new(cell.column, cell.row).ok_or(Obstacle::Outside)?;
    let middle = cell.middle();
    let checks = [
        (is_near(builder.place, middle, REACH), Obstacle::TooFar),
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

/// Whether someone may take down what stands on a cell; `is_own` says whether they built it.
pub fn can_remove<S: Surroundings>(builder: &Builder<'_, S>, cell: Cell, is_own: bool) -> Result<Kind, Obstacle> {
    let cell = Cell::new(cell.column, cell.row).ok_or(Obstacle::Outside)?;
    let kind = builder.surroundings.structure_at(cell).ok_or(Obstacle::Nothing)?;
    match (is_own, is_near(builder.place, cell.middle(), REACH)) {
        (false, _) => Err(Obstacle::NotYours),
        (true, false) => Err(Obstacle::TooFar),
        (true, true) => Ok(kind),
    }
}

/// What would become of building under the pointer.
pub fn preview<S: Surroundings>(builder: &Builder<'_, S>, pointer: [f32; 2], kind: Kind) -> Preview {
    let cell = Cell::at(pointer);
    let obstacle = match cell {
        Some(cell) => can_place(builder, cell, kind).err(),
        None => Some(Obstacle::Outside),
    };
    Preview { cell, obstacle }
}

/// Whether a person stands on the cell with this middle, be it with one foot.
fn is_on(person: [f32; 2], middle: [f32; 2]) -> bool {
    (0..2).all(|axis| (person[axis] - middle[axis]).abs() < CELL / 2.0 + RADIUS)
}
