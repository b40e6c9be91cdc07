//! Structures.

use crate::game::Outpost;
use crate::player_state::PlayerState;
use aether::prelude::*;
use aether_outpost_rules::{Body, Builder, Cell, Destroyed, Kind, Obstacle, Player, Structure, StructureGrid};

/// Structure on a cell.
#[derive(Clone, Debug)]
pub struct BuiltStructure {
    /// Entity of the structure.
    pub entity: EntityId,
    /// Account of the builder.
    pub builder: String,
}

impl BuiltStructure {
    /// Returns whether an account built it. Players without an account own nothing after they leave.
    pub fn is_of(&self, account: &str) -> bool {
        !account.is_empty() && self.builder == account
    }
}

impl Outpost {
    /// Spawns a structure on its cell. Returns false if the cell is occupied or the room is full.
    pub(crate) fn spawn_structure(&mut self, room: &mut Context<'_>, structure: Structure, builder: String) -> bool {
        let Some(cell) = Cell::at(structure.position).filter(|cell| !self.structures.contains_key(cell)) else {
            return false;
        };
        let kind = structure.kind;
        let Ok(entity) = room.world.spawn(Structure { position: cell.middle(), ..structure }) else { return false };
        self.grid.set(cell, Some(kind));
        self.structures.insert(cell, BuiltStructure { entity, builder });
        true
    }

    /// Applies a shot's damage to the structure on a cell.
    pub(crate) fn damage_structure(&mut self, room: &mut Context<'_>, cell: Cell, damage: i32) {
        let Some(built) = self.structures.get(&cell) else { return };
        let Some(structure) = room.world.get_mut::<Structure>(built.entity) else { return };
        structure.health -= damage;
        if structure.health <= 0 {
            self.clear(room, cell);
            room.broadcast(&Destroyed { column: cell.column, row: cell.row });
        }
    }

    /// Sets the builder of an account's structures, now that its player has joined.
    pub(crate) fn claim_structures(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let Some(player_state) = self.players.get(&player) else { return };
        for built in self.structures.values().filter(|built| built.is_of(&player_state.account)) {
            if let Some(structure) = room.world.get_mut::<Structure>(built.entity) {
                structure.builder = player.0;
            }
        }
    }

    /// Returns the turrets, in the order of their cells.
    pub(crate) fn turrets<'a>(
        &'a self,
        room: &'a Context<'_>,
    ) -> impl Iterator<Item = (&'a BuiltStructure, &'a Structure)> + use<'a> {
        let world = &*room.world;
        let structures =
            self.structures.values().filter_map(|built| Some((built, world.get::<Structure>(built.entity)?)));
        structures.filter(|(_, structure)| structure.kind == Kind::Turret)
    }

    /// Removes the structure on a cell.
    pub(crate) fn clear(&mut self, room: &mut Context<'_>, cell: Cell) {
        let Some(built) = self.structures.remove(&cell) else { return };
        let number = room.world.get::<Structure>(built.entity).map_or(0, |structure| structure.builder);
        room.world.despawn(built.entity);
        self.grid.set(cell, None);
        self.adjust_structure_count(PlayerId(number), -1);
    }

    pub(crate) fn is_own(&self, room: &Context<'_>, player: PlayerId, cell: Cell) -> bool {
        let Some(built) = self.structures.get(&cell) else { return false };
        let built_by = room.world.get::<Structure>(built.entity).map(|structure| structure.builder);
        let player_state = self.players.get(&player);
        built_by == Some(player.0) || player_state.is_some_and(|player_state| built.is_of(&player_state.account))
    }

    /// Adjusts the structure count of a player, and of all players of the same account.
    pub(crate) fn adjust_structure_count(&mut self, player: PlayerId, change: i32) {
        let Some(account) = self.players.get(&player).map(|player_state| player_state.account.clone()) else { return };
        for (&other, player_state) in &mut self.players {
            if other == player || !account.is_empty() && player_state.account == account {
                player_state.structures = player_state.structures.saturating_add_signed(change);
            }
        }
    }
}

/// Returns the builder for the rules.
pub(crate) fn builder<'a>(
    player_state: &PlayerState,
    room: &Context<'_>,
    grid: &'a StructureGrid,
    people: &'a [[f32; 2]],
) -> Option<Builder<'a, StructureGrid>> {
    let position = room.world.get::<Player>(player_state.body)?.position;
    let material = room.world.get::<Body>(player_state.body)?.material;
    Some(Builder { surroundings: grid, position, material, structures: player_state.structures, people })
}

pub(crate) fn rejected(obstacle: Obstacle) -> Rejection {
    let code = match obstacle {
        Obstacle::Nothing => ErrorCode::NotFound,
        Obstacle::NotYours => ErrorCode::Forbidden,
        Obstacle::TooMany | Obstacle::TooExpensive => ErrorCode::LimitReached,
        _ => ErrorCode::BadValue,
    };
    Rejection::new(code, obstacle.sentence())
}

pub(crate) fn no_character() -> Rejection {
    Rejection::new(ErrorCode::NotFound, "you have no character in this world; join again")
}
