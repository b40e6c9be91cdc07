//! Captured state of a running room: fields of the game, and fields of components that are not replicated.

use crate::build_command::BuildCommand;
use crate::building::BuiltStructure;
use crate::game::Outpost;
use crate::player_state::{Character, PlayerState};
use crate::save::{read_list, write_list};
use aether::prelude::*;
use aether_outpost_rules::{Cell, Shot, Structure};

/// Maximum length of a list: more than a room can have.
const LIST_MAX: u64 = 100_000;

/// A player in the room.
#[derive(Clone, Replicate)]
struct SavedPlayer {
    player: u32,
    #[replicate(text = 128)]
    account: String,
    #[replicate(text = 64)]
    profile: String,
    body: SavedEntity,
    presence: SavedEntity,
    protected_until: u32,
    hits: u16,
    falls: u16,
    structures: u32,
}

/// Id of an entity.
#[derive(Clone, Replicate)]
struct SavedEntity {
    slot: u32,
    generation: u16,
}

/// A structure on its cell.
#[derive(Clone, Replicate)]
struct SavedStructure {
    column: u8,
    row: u8,
    entity: SavedEntity,
    #[replicate(text = 128)]
    builder: String,
}

/// Request for the profile of a player that is not answered yet.
#[derive(Clone, Replicate)]
struct SavedRequest {
    request: u32,
    player: u32,
}

impl From<EntityId> for SavedEntity {
    fn from(EntityId { slot, generation }: EntityId) -> SavedEntity {
        SavedEntity { slot, generation }
    }
}

impl From<SavedEntity> for EntityId {
    fn from(SavedEntity { slot, generation }: SavedEntity) -> EntityId {
        EntityId { slot, generation }
    }
}

/// Packs the state. Shots follow in the order of their entities.
pub fn write(game: &Outpost, world: &World) -> Vec<u8> {
    // A new field must be written. The grid follows from the structures.
    let Outpost { players, grid: _, structures, pending_commands, returning, away, pending_profiles, left } = game;
    let mut writer = BitWriter::new();
    let players: Vec<SavedPlayer> = players.iter().map(|(player, state)| saved_player(*player, state)).collect();
    write_list(&players, &mut writer);
    let structures: Vec<SavedStructure> =
        structures.iter().map(|(cell, built)| saved_structure(*cell, built)).collect();
    write_list(&structures, &mut writer);
    write_list(&pending_commands.values().cloned().collect::<Vec<_>>(), &mut writer);
    write_list(&returning.values().cloned().collect::<Vec<_>>(), &mut writer);
    write_list(&away.values().cloned().collect::<Vec<_>>(), &mut writer);
    let requests = pending_profiles.iter().map(|(request, player)| (request.0, player.0));
    let requests: Vec<_> = requests.map(|(request, player)| SavedRequest { request, player }).collect();
    write_list(&requests, &mut writer);
    writer.write((*left).into(), 32);
    for (_, shot) in world.each::<Shot>() {
        writer.write(shot.steps_left.into(), 32);
        writer.write_bool(shot.by_turret);
    }
    writer.to_bytes()
}

/// Unpacks a state into a game whose world has its entities.
pub fn read(game: &mut Outpost, world: &mut World, bytes: &[u8]) -> Result<(), ReadError> {
    let reader = &mut BitReader::new(bytes);
    for saved in read_list::<SavedPlayer>(reader, LIST_MAX)? {
        let SavedPlayer { player, account, profile, body, presence, protected_until, hits, falls, structures } = saved;
        let (body, presence, protected_until) = (body.into(), presence.into(), Tick(protected_until));
        let state = PlayerState { account, profile, body, presence, protected_until, hits, falls, structures };
        game.players.insert(PlayerId(player), state);
    }
    for SavedStructure { column, row, entity, builder } in read_list(reader, LIST_MAX)? {
        let cell = Cell::new(column, row).ok_or(ReadError::OutOfRange)?;
        let entity = EntityId::from(entity);
        game.grid.set(cell, world.get::<Structure>(entity).map(|structure| structure.kind));
        game.structures.insert(cell, BuiltStructure { entity, builder });
    }
    for command in read_list::<BuildCommand>(reader, LIST_MAX)? {
        let cell = Cell::new(command.column, command.row).ok_or(ReadError::OutOfRange)?;
        game.pending_commands.insert(cell, command);
    }
    let characters = read_list::<Character>(reader, LIST_MAX)?.into_iter();
    game.returning = characters.map(|character| (PlayerId(character.number), character)).collect();
    let characters = read_list::<Character>(reader, LIST_MAX)?.into_iter();
    game.away =
        characters.map(|character| ((character.account.clone(), character.profile.clone()), character)).collect();
    let requests = read_list::<SavedRequest>(reader, LIST_MAX)?.into_iter();
    game.pending_profiles = requests.map(|saved| (RequestId(saved.request), PlayerId(saved.player))).collect();
    game.left = reader.read(32)? as u32;
    let mut result = Ok(());
    world.each_mut(|_, shot: &mut Shot| match (reader.read(32), reader.read_bool()) {
        (Ok(steps), Ok(by_turret)) => (shot.steps_left, shot.by_turret) = (steps as u32, by_turret),
        (Err(error), _) | (_, Err(error)) => result = Err(error),
    });
    result
}

fn saved_player(player: PlayerId, state: &PlayerState) -> SavedPlayer {
    let PlayerState { account, profile, body, presence, protected_until, hits, falls, structures } = state.clone();
    SavedPlayer {
        player: player.0,
        account,
        profile,
        body: body.into(),
        presence: presence.into(),
        protected_until: protected_until.0,
        hits,
        falls,
        structures,
    }
}

fn saved_structure(Cell { column, row }: Cell, built: &BuiltStructure) -> SavedStructure {
    SavedStructure { column, row, entity: built.entity.into(), builder: built.builder.clone() }
}
