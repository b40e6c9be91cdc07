//! The game.

use crate::build_command::BuildCommand;
use crate::building::BuiltStructure;
use crate::capture;
use crate::characters::check_metadata;
use crate::player_state::{Character, PlayerState};
use crate::save::Saved;
use aether::prelude::*;
use aether_outpost_rules::{
    Body, Cell, Controls, Destroyed, Fallen, Hit, MATERIAL_MAX, Place, Play, Player, Presence, Remove, Shot, Structure,
    StructureGrid, walk,
};
use std::collections::BTreeMap;

/// Maximum length of a name, as in [`Presence`]. Longer names are shortened.
pub(crate) const NAME_BYTES_MAX: usize = 24;
/// Maximum length of an account id, as in a checkpoint.
const ACCOUNT_BYTES_MAX: usize = 128;
/// Number of ticks for one unit of material: half a second.
const MATERIAL_TICKS: u32 = 15;

/// Outpost.
#[derive(Default)]
pub struct Outpost {
    pub(crate) players: BTreeMap<PlayerId, PlayerState>,
    /// Structures by cell, for the rules.
    pub(crate) grid: StructureGrid,
    /// The same structures as entities, with their builders.
    pub(crate) structures: BTreeMap<Cell, BuiltStructure>,
    /// Commands that are not committed yet.
    pub(crate) pending_commands: BTreeMap<Cell, BuildCommand>,
    /// Characters of players who were present at the checkpoint, until they rejoin.
    pub(crate) returning: BTreeMap<PlayerId, Character>,
    /// Characters that nobody plays, by account and profile.
    pub(crate) away: BTreeMap<(String, String), Character>,
    /// Pending requests for profiles.
    pub(crate) pending_profiles: BTreeMap<RequestId, PlayerId>,
    /// Number of characters that were left.
    pub(crate) left: u32,
}

impl Game for Outpost {
    type Input = Controls;

    fn declare(declaration: GameSchemaBuilder) -> GameSchemaBuilder {
        declaration
            .component::<Player>()
            .component::<Body>()
            .component::<Structure>()
            .component::<Shot>()
            .component::<Presence>()
            .event::<Place>()
            .event::<Remove>()
            .event::<Play>()
            .event::<Hit>()
            .event::<Fallen>()
            .event::<Destroyed>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        room.set_label(crate::NAME);
    }

    fn join_attempt(&mut self, _room: &mut Context<'_>, request: &JoinRequest) -> Result<(), Rejection> {
        if request.user.len() > ACCOUNT_BYTES_MAX {
            return Err(Rejection::new(ErrorCode::BadValue, "the account id is longer than 128 bytes"));
        }
        check_metadata(&request.metadata)
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        self.drop_returning();
        self.enter(room, player);
    }

    /// Continues with the same character, also if other players of the account are present.
    fn rejoin(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let character = self.returning.remove(&player);
        match character.filter(|character| room.user(player) == Some(&character.account)) {
            Some(character) => {
                let profile = Some(character.profile.clone()).filter(|profile| !profile.is_empty());
                self.spawn_character(room, player, character);
                self.request_profile(room, player, profile);
            }
            None => self.enter(room, player),
        }
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, _reason: CloseReason) {
        let Some(player_state) = self.players.remove(&player) else { return };
        room.world.despawn(player_state.presence);
        self.pending_profiles.retain(|_, waiting| *waiting != player);
        if let Some(character) = Character::of(&player_state, player.0, room.world) {
            self.retire(character);
        }
        for built in self.structures.values().filter(|built| built.is_of(&player_state.account)) {
            if let Some(structure) = room.world.get_mut::<Structure>(built.entity) {
                structure.builder = 0;
            }
        }
    }

    /// One input is one step, whenever it arrives, so that predictions match.
    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Controls) {
        let seconds = room.seconds_per_tick();
        let Some(player_state) = self.players.get_mut(&player) else { return };
        let Some(body) = room.world.get_mut::<Player>(player_state.body) else { return };
        if walk(body, input, &self.grid, seconds).fired {
            let shot = body.fire(player.0);
            // Shooting ends the protection.
            player_state.protected_until = room.tick();
            self.shoot(room, shot);
        }
    }

    fn message(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        message: &PlayerMessage<'_>,
    ) -> Result<(), Rejection> {
        if let Some(place) = message.read::<Place>() {
            return self.place(room, player, &place.map_err(unreadable)?);
        }
        if let Some(remove) = message.read::<Remove>() {
            return self.remove(room, player, &remove.map_err(unreadable)?);
        }
        if let Some(play) = message.read::<Play>() {
            return self.play(room, player, play.map_err(unreadable)?);
        }
        Err(Rejection::new(
            ErrorCode::UnknownCommand,
            "unknown command; Outpost has `build.place`, `build.remove` and `presence.play`",
        ))
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        self.drop_returning();
        self.fly(room);
        self.aim_turrets(room);
        self.update_bodies(room);
        self.update_presence(room);
    }

    fn answer(&mut self, room: &mut Context<'_>, id: RequestId, answer: &Answer) {
        if let Some(player) = self.pending_profiles.remove(&id) {
            self.apply_profile(room, player, answer);
        }
    }

    fn committed(&mut self, room: &mut Context<'_>, entry: &[u8]) {
        if let Some(command) = BuildCommand::from_bytes(entry) {
            self.apply(room, &command);
        }
    }

    fn uncommitted(&mut self, _room: &mut Context<'_>, entry: &[u8]) {
        if let Some(command) = BuildCommand::from_bytes(entry) {
            self.release(&command);
        }
    }

    fn signal(&mut self, room: &mut Context<'_>, _data: &[u8]) -> Vec<u8> {
        let (players, structures) = (self.players.len(), self.structures.len());
        format!("{players} players, {structures} structures, {} entities", room.world.len()).into_bytes()
    }

    fn checkpoint(&self, world: &World) -> Option<Vec<u8>> {
        let structures = self
            .structures
            .iter()
            .filter_map(|(cell, built)| Some((*cell, world.get::<Structure>(built.entity)?, built.builder.as_str())));
        let mut characters: Vec<Character> = self.away.values().chain(self.returning.values()).cloned().collect();
        characters
            .extend(self.players.iter().filter_map(|(id, player_state)| Character::of(player_state, id.0, world)));
        Some(Saved::new(structures, characters).to_bytes())
    }

    fn restore(&mut self, room: &mut Context<'_>, checkpoint: &[u8]) -> Result<(), Rejection> {
        let saved = Saved::from_bytes(checkpoint).map_err(|error| {
            Rejection::new(ErrorCode::BadValue, format!("the checkpoint of Outpost cannot be read: {error}"))
        })?;
        for (structure, builder) in saved.structures() {
            self.spawn_structure(room, structure, builder.to_owned());
        }
        for character in saved.characters {
            self.left = self.left.max(character.left);
            if character.is_present {
                self.returning.insert(PlayerId(character.number), character);
            } else {
                self.store_character(character);
            }
        }
        room.set_label(crate::NAME);
        Ok(())
    }

    fn capture(&self, world: &World) -> Option<Vec<u8>> {
        Some(capture::write(self, world))
    }

    fn restore_capture(&mut self, room: &mut Context<'_>, bytes: &[u8]) -> Result<(), Rejection> {
        capture::read(self, room.world, bytes)
            .map_err(|error| Rejection::new(ErrorCode::BadValue, format!("the captured state is damaged: {error}")))
    }

    fn hash(&self, hasher: &mut StateHasher) {
        for (player, player_state) in &self.players {
            hasher.word(u64::from(player.0) << 32 | u64::from(player_state.protected_until.0));
            hasher.word(
                u64::from(player_state.hits) << 32
                    | u64::from(player_state.falls) << 16
                    | u64::from(player_state.structures),
            );
            hasher.bytes(player_state.profile.as_bytes());
        }
        for (cell, built) in &self.structures {
            hasher.word(u64::from(cell.column) << 8 | u64::from(cell.row));
            hasher.bytes(built.builder.as_bytes());
        }
        for (cell, command) in &self.pending_commands {
            hasher.word(u64::from(cell.column) << 8 | u64::from(cell.row));
            hasher.word(u64::from(command.player) << 1 | u64::from(command.builds));
        }
        for ((account, profile), character) in &self.away {
            hasher.bytes(account.as_bytes());
            hasher.bytes(profile.as_bytes());
            hasher.word(u64::from(character.left));
        }
    }
}

impl Outpost {
    /// Protection after a join or a respawn: two seconds.
    pub(crate) const PROTECTED_TICKS: u32 = 60;

    /// Returns the number of a player's hits.
    #[must_use]
    pub fn hits_of(&self, player: PlayerId) -> u16 {
        self.players.get(&player).map_or(0, |player_state| player_state.hits)
    }

    /// Stores the characters of players who did not rejoin after the room was rebuilt.
    fn drop_returning(&mut self) {
        while let Some((_, character)) = self.returning.pop_first() {
            self.retire(character);
        }
    }

    /// Adds material over time, and ends protection.
    fn update_bodies(&mut self, room: &mut Context<'_>) {
        let now = room.tick();
        let more = i32::from(now.0.is_multiple_of(MATERIAL_TICKS));
        for player_state in self.players.values() {
            let Some(body) = room.world.get::<Body>(player_state.body) else { continue };
            let material = (body.material + more).min(MATERIAL_MAX);
            let is_protected = now < player_state.protected_until;
            if (material != body.material || is_protected != body.is_protected)
                && let Some(body) = room.world.get_mut::<Body>(player_state.body)
            {
                (body.material, body.is_protected) = (material, is_protected);
            }
        }
    }

    /// Updates the presence of all players.
    fn update_presence(&mut self, room: &mut Context<'_>) {
        for player_state in self.players.values() {
            let appearance = room.world.get::<Body>(player_state.body).map_or(0, |body| body.appearance);
            let Some(shown) = room.world.get::<Presence>(player_state.presence) else { continue };
            let structures = player_state.structures as u16;
            let now = (appearance, player_state.hits, player_state.falls, structures);
            if now != (shown.appearance, shown.hits, shown.falls, shown.structures)
                && let Some(shown) = room.world.get_mut::<Presence>(player_state.presence)
            {
                (shown.appearance, shown.hits, shown.falls, shown.structures) = now;
            }
        }
    }
}

fn unreadable(error: ReadError) -> Rejection {
    Rejection::new(ErrorCode::BadValue, format!("the message cannot be read: {error}"))
}
