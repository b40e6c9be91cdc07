//! Client side of Outpost: prediction and interpolation.

use aether::prelude::*;
use aether_outpost_rules::{
    Body, Cell, Controls, Destroyed, Fallen, Hit, Place, Play, Player, Presence, Remove, Shot, Structure,
    StructureGrid, walk,
};
use std::collections::BTreeMap;

/// The game on a client. It stores the visible structures, because players collide with them.
#[derive(Debug, Default)]
pub struct OutpostClient {
    grid: StructureGrid,
    /// Cells of visible structures, to clear them when the structures are gone.
    cells: BTreeMap<EntityId, Cell>,
}

/// Player as it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn(pub Player);

impl Interpolate for Drawn {
    fn moved(&self, from: &Self, to: &Self, share: f32) -> Self {
        let Drawn(player) = self;
        let (from, to) = (&from.0, &to.0);
        Drawn(Player {
            position: player.position.moved(&from.position, &to.position, share),
            velocity: player.velocity.moved(&from.velocity, &to.velocity, share),
            aim: Angle(player.aim).moved(&Angle(from.aim), &Angle(to.aim), share).0,
            reload: player.reload,
        })
    }

    fn distance(&self, other: &Self) -> f32 {
        self.0.position.distance(&other.0.position)
    }
}

impl Predict for OutpostClient {
    type State = Drawn;
    type Input = Controls;

    fn step(&self, state: &mut Drawn, input: &Controls, seconds: f32) {
        walk(&mut state.0, input, &self.grid, seconds);
    }

    fn snap(&self, state: &mut Drawn) {
        state.0.snap();
    }

    fn is_same(&self, a: &Drawn, b: &Drawn) -> bool {
        a == b
    }
}

impl ClientGame for OutpostClient {
    type Remote = Drawn;

    fn declare(&self, declaration: ClientSchemaBuilder) -> ClientSchemaBuilder {
        declaration
            .component::<Player>()
            .component::<Body>()
            .component::<Structure>()
            .component::<Shot>()
            .component::<Presence>()
            .input::<Controls>()
            .event::<Place>()
            .event::<Remove>()
            .event::<Play>()
            .event::<Hit>()
            .event::<Fallen>()
            .event::<Destroyed>()
    }

    fn reset(&mut self) {
        *self = OutpostClient::default();
    }

    fn observe(&mut self, mirror: &Mirror) {
        // Removed structures first: another may already stand on the cell.
        for cell in mirror.left().iter().filter_map(|entity| self.cells.remove(entity)) {
            self.grid.set(cell, None);
        }
        for entity in mirror.entered().iter().chain(mirror.updated()) {
            let Some(structure) = mirror.get::<Structure>(*entity) else { continue };
            let Some(cell) = Cell::at(structure.position) else { continue };
            if let Some(before) = self.cells.insert(*entity, cell) {
                self.grid.set(before, None);
            }
            self.grid.set(cell, Some(structure.kind));
        }
    }

    fn pack_input(&self, input: &Controls, writer: &mut BitWriter) {
        let mut input = *input;
        input.snap();
        input.write_full(writer);
    }

    fn own_state(&self, mirror: &Mirror, entity: EntityId) -> Option<Drawn> {
        mirror.get::<Player>(entity).cloned().map(Drawn)
    }

    fn remote_state(&self, mirror: &Mirror, entity: EntityId) -> Option<Drawn> {
        self.own_state(mirror, entity)
    }
}
