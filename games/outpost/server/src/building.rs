//! Structures.

use crate::game::Outpost;
use crate::settler::Settler;
use aether_engine::{Context, Rejection};
use aether_outpost_rules::{Body, Builder, Cell, Destroyed, Grid, Kind, Obstacle, Player, Structure};
use aether_wire::{EntityId, ErrorCode, PlayerId};

/// A cell on which something stands.
#[derive(Clone, Debug)]
pub struct Plot {
    /// The structure.
    pub entity: EntityId,
    /// The builder's account.
    pub builder: String,
}

impl Plot {
    /// Whether an account built it. Nobody without an account owns anything for longer than they stay.
    pub fn is_of(&self, account: &str) -> bool {
        !account.is_empty() && self.builder == account
    }
}

impl Outpost {
    /// Puts a structure on its cell; false if it cannot stand there.
    pub(crate) fn raise(&mut self, room: &mut Context<'_>, structure: Structure, builder: String) -> bool {
        let Some(cell) = Cell::at(structure.position).filter(|cell| !self.plots.contains_key(cell)) else {
            return false;
        };
        let kind = structure.kind;
        let Ok(entity) = room.world.spawn(Structure { position: cell.middle(), ..structure }) else { return false };
        self.grid.set(cell, Some(kind));
        self.plots.insert(cell, Plot { entity, builder });
        true
    }

    /// A shot hit what stands on a cell.
    pub(crate) fn strike(&mut self, room: &mut Context<'_>, cell: Cell, damage: i32) {
        let Some(plot) = self.plots.get(&cell) else { return };
        let Some(structure) = room.world.get_mut::<Structure>(plot.entity) else { return };
        structure.health -= damage;
        if structure.health <= 0 {
            self.clear(room, cell);
            room.broadcast(&Destroyed { column: cell.column, row: cell.row });
        }
    }

    /// Says whose structures these are, now that their builder is in.
    pub(crate) fn sign(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let Some(settler) = self.settlers.get(&player) else { return };
        for plot in self.plots.values().filter(|plot| plot.is_of(&settler.account)) {
            if let Some(structure) = room.world.get_mut::<Structure>(plot.entity) {
                structure.builder = player.0;
            }
        }
    }

    /// The turrets, in the order of their cells.
    pub(crate) fn turrets<'a>(
        &'a self,
        room: &'a Context<'_>,
    ) -> impl Iterator<Item = (&'a Plot, &'a Structure)> + use<'a> {
        let world = &*room.world;
        let structures = self.plots.values().filter_map(|plot| Some((plot, world.get::<Structure>(plot.entity)?)));
        structures.filter(|(_, structure)| structure.kind == Kind::Turret)
    }

    /// Takes away what stands on a cell.
    pub(crate) fn clear(&mut self, room: &mut Context<'_>, cell: Cell) {
        let Some(plot) = self.plots.remove(&cell) else { return };
        let number = room.world.get::<Structure>(plot.entity).map_or(0, |structure| structure.builder);
        room.world.despawn(plot.entity);
        self.grid.set(cell, None);
        self.count(PlayerId(number), -1);
    }

    pub(crate) fn is_own(&self, room: &Context<'_>, player: PlayerId, cell: Cell) -> bool {
        let Some(plot) = self.plots.get(&cell) else { return false };
        let built_by = room.world.get::<Structure>(plot.entity).map(|structure| structure.builder);
        let settler = self.settlers.get(&player);
        built_by == Some(player.0) || settler.is_some_and(|settler| plot.is_of(&settler.account))
    }

    /// Counts structures of a player. All players of one account have the same ones.
    pub(crate) fn count(&mut self, player: PlayerId, change: i32) {
        let Some(account) = self.settlers.get(&player).map(|settler| settler.account.clone()) else { return };
        for (&other, settler) in &mut self.settlers {
            if other == player || !account.is_empty() && settler.account == account {
                settler.structures = settler.structures.saturating_add_signed(change);
            }
        }
    }
}

/// Who builds, for the rules.
pub(crate) fn builder<'a>(
    settler: &Settler,
    room: &Context<'_>,
    grid: &'a Grid,
    people: &'a [[f32; 2]],
) -> Option<Builder<'a, Grid>> {
    let place = room.world.get::<Player>(settler.body)?.position;
    let material = room.world.get::<Body>(settler.body)?.material;
    Some(Builder { surroundings: grid, place, material, structures: settler.structures, people })
}

pub(crate) fn refused(obstacle: Obstacle) -> Rejection {
    let code = match obstacle {
        Obstacle::Nothing => ErrorCode::NotFound,
        Obstacle::NotYours => ErrorCode::Forbidden,
        Obstacle::TooMany | Obstacle::TooExpensive => ErrorCode::LimitReached,
        _ => ErrorCode::BadValue,
    };
    Rejection::new(code, obstacle.sentence())
}

pub(crate) fn nobody() -> Rejection {
    Rejection::new(ErrorCode::NotFound, "you have no character in this world")
}
