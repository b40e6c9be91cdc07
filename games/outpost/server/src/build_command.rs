//! Build commands: building and removing are stored in the journal first, and applied when they are committed.
//!
//! Until then the cell, the material and an entity are reserved. Reservations are not part of a checkpoint: a command
//! is applied when it is committed, also after the room was rebuilt.

use crate::building::{builder, no_character, rejected};
use crate::game::Outpost;
use aether::prelude::*;
use aether_outpost_rules::{
    Body, Cell, Kind, MATERIAL_MAX, Obstacle, Place, Player, Remove, Shot, Structure, can_place, can_remove, is_free,
    spawn_point,
};

/// Search radius in cells for a free position, for players who stand where a structure is built.
const ASIDE_CELLS: i32 = 3;

/// Journal entry: a structure is built or removed.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct BuildCommand {
    /// True to build, false to remove.
    pub builds: bool,
    pub column: u8,
    pub row: u8,
    pub kind: Kind,
    /// Number of the player.
    pub player: u32,
    /// Account of the player.
    #[replicate(text = 128)]
    pub account: String,
}

impl BuildCommand {
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = BitWriter::new();
        self.write_full(&mut writer);
        writer.to_bytes()
    }

    /// Parses an entry.
    pub fn from_bytes(bytes: &[u8]) -> Option<BuildCommand> {
        BuildCommand::read_full(&mut BitReader::new(bytes)).ok()
    }

    fn cell(&self) -> Option<Cell> {
        Cell::new(self.column, self.row)
    }

    fn cost(&self) -> i32 {
        if self.builds { self.kind.cost() } else { 0 }
    }

    /// Returns whether the same person issued it.
    fn is_of(&self, player: PlayerId, account: &str) -> bool {
        self.player == player.0 || !account.is_empty() && self.account == account
    }
}

impl Outpost {
    /// Handles a player's request to build.
    pub(crate) fn place(&mut self, room: &mut Context<'_>, player: PlayerId, place: &Place) -> Result<(), Rejection> {
        let cell = Cell::new(place.column, place.row).ok_or_else(|| rejected(Obstacle::Outside))?;
        self.check_not_reserved(cell)?;
        let people: Vec<[f32; 2]> = room.world.each::<Player>().map(|(_, player)| player.position).collect();
        let player_state = self.players.get(&player).ok_or_else(no_character)?;
        let mut builder = builder(player_state, room, &self.grid, &people).ok_or_else(no_character)?;
        for command in self
            .pending_commands
            .values()
            .filter(|command| command.builds && command.is_of(player, &player_state.account))
        {
            builder.structures += 1;
            // Material belongs to each player, also where two players share an account.
            builder.material -= if command.player == player.0 { command.cost() } else { 0 };
        }
        can_place(&builder, cell, place.kind).map_err(rejected)?;
        if !self.has_capacity(room, 1) {
            return Err(Rejection::new(ErrorCode::LimitReached, "the world is full; remove structures first"));
        }
        self.commit(room, player, cell, (true, place.kind))
    }

    /// Handles a player's request to remove a structure. Half of the material is refunded.
    pub(crate) fn remove(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        remove: &Remove,
    ) -> Result<(), Rejection> {
        let cell = Cell::new(remove.column, remove.row).ok_or_else(|| rejected(Obstacle::Outside))?;
        self.check_not_reserved(cell)?;
        let player_state = self.players.get(&player).ok_or_else(no_character)?;
        let builder = builder(player_state, room, &self.grid, &[]).ok_or_else(no_character)?;
        let kind = can_remove(&builder, cell, self.is_own(room, player, cell)).map_err(rejected)?;
        self.commit(room, player, cell, (false, kind))
    }

    /// Applies a committed command. It overrides the current state of the cell, which is older.
    pub(crate) fn apply(&mut self, room: &mut Context<'_>, command: &BuildCommand) {
        let Some(cell) = command.cell() else { return };
        self.release(command);
        self.clear(room, cell);
        if !command.builds {
            return self.add_material(room, command, command.kind.cost() / 2);
        }
        let builder = self.player_of(command).map_or(0, |player| player.0);
        let structure =
            Structure { position: cell.middle(), kind: command.kind, health: command.kind.health(), builder };
        if !self.spawn_structure(room, structure.clone(), command.account.clone()) {
            // Frees a shot's entity. Only needed if a room was rebuilt with a lower entity limit.
            let shot = room.world.each::<Shot>().map(|(id, _)| id).next();
            shot.map(|shot| room.world.despawn(shot));
            self.spawn_structure(room, structure, command.account.clone());
        }
        self.add_material(room, command, -command.cost());
        self.adjust_structure_count(PlayerId(builder), 1);
        if command.kind.stops_people() {
            self.move_aside(room);
        }
    }

    /// Frees the reservations of a command that was applied or dropped.
    pub(crate) fn release(&mut self, command: &BuildCommand) {
        if let Some(cell) = command.cell() {
            self.pending_commands.remove(&cell);
        }
    }

    /// Returns whether the world has room for more entities besides the reserved ones.
    pub(crate) fn has_capacity(&self, room: &Context<'_>, count: usize) -> bool {
        room.world.len() + self.pending_commands.len() + count <= room.settings().entities_max
    }

    /// Commits a command and reserves what it needs.
    fn commit(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        cell: Cell,
        (builds, kind): (bool, Kind),
    ) -> Result<(), Rejection> {
        let account = self.players.get(&player).ok_or_else(no_character)?.account.clone();
        let command = BuildCommand { builds, column: cell.column, row: cell.row, kind, player: player.0, account };
        room.commit(command.to_bytes())?;
        self.pending_commands.insert(cell, command);
        Ok(())
    }

    fn check_not_reserved(&self, cell: Cell) -> Result<(), Rejection> {
        match self.pending_commands.contains_key(&cell) {
            true => Err(Rejection::new(
                ErrorCode::BadValue,
                "another command for this cell is pending; try again in a moment",
            )),
            false => Ok(()),
        }
    }

    /// Adds material to a command's player, or takes it; also if that player is away.
    fn add_material(&mut self, room: &mut Context<'_>, command: &BuildCommand, change: i32) {
        let changed = |material: i32| (material + change).clamp(0, MATERIAL_MAX);
        let is_meant = |account: &str| account == command.account;
        let player_state =
            self.players.get(&PlayerId(command.player)).filter(|player_state| is_meant(&player_state.account));
        if let Some(body) = player_state.and_then(|player_state| room.world.get_mut::<Body>(player_state.body)) {
            body.material = changed(body.material);
        } else if let Some(character) = self.character_of(PlayerId(command.player), &command.account) {
            character.material = changed(character.material);
        }
    }

    /// Returns the player of a command, if present: the same player, or another of the same account.
    fn player_of(&self, command: &BuildCommand) -> Option<PlayerId> {
        let same =
            self.players.get_key_value(&PlayerId(command.player)).filter(|(_, it)| it.account == command.account);
        let mut others = self.players.iter().filter(|(_, it)| !it.account.is_empty() && it.account == command.account);
        same.or_else(|| others.next()).map(|(player, _)| *player)
    }

    /// Moves players aside who stand where a structure was built.
    fn move_aside(&mut self, room: &mut Context<'_>) {
        let bodies: Vec<(PlayerId, EntityId)> =
            self.players.iter().map(|(&id, player_state)| (id, player_state.body)).collect();
        for (id, body) in bodies {
            let Some(position) = room.world.get::<Player>(body).map(|player| player.position) else { continue };
            if is_free(position, &self.grid) {
                continue;
            }
            let free = self.free_near(position).unwrap_or_else(|| spawn_point(id.0));
            if let Some(player) = room.world.get_mut::<Player>(body) {
                (player.position, player.velocity) = (free, [0.0; 2]);
            }
        }
    }

    /// Returns the center of the nearest free cell.
    fn free_near(&self, position: [f32; 2]) -> Option<[f32; 2]> {
        let here = Cell::at(position)?;
        let around =
            (-ASIDE_CELLS..=ASIDE_CELLS).flat_map(|up| (-ASIDE_CELLS..=ASIDE_CELLS).map(move |right| (right, up)));
        let cells = around.filter_map(|(right, up)| {
            let column = u8::try_from(i32::from(here.column) + right).ok()?;
            let row = u8::try_from(i32::from(here.row) + up).ok()?;
            Some(Cell::new(column, row)?.middle())
        });
        let distance = |to: &[f32; 2]| (to[0] - position[0]).powi(2) + (to[1] - position[1]).powi(2);
        cells.filter(|cell| is_free(*cell, &self.grid)).min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }
}
