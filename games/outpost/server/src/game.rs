//! The game.

use crate::build_command::BuildCommand;
use crate::building::BuiltStructure;
use crate::capture;
use crate::player_state::{Character, PlayerState};
use crate::save::{CHARACTERS_MAX, Saved};
use aether::prelude::*;
use aether_outpost_rules::{
    APPEARANCES, Body, Cell, Controls, Destroyed, Dress, Fallen, Hit, MATERIAL_MAX, Place, Player, Presence, Remove,
    Shot, Structure, StructureGrid, is_free, spawn_point, walk,
};
use std::collections::BTreeMap;

/// Maximum length of a name, as in [`Presence`].
const NAME_BYTES_MAX: usize = 24;
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
    /// Characters of absent players, by account.
    pub(crate) away: BTreeMap<String, Character>,
    /// Character requested by an account that is joining.
    pub(crate) wanted: Option<(String, u8)>,
    /// Number of players who have left.
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
            .event::<Dress>()
            .event::<Hit>()
            .event::<Fallen>()
            .event::<Destroyed>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        room.set_label(crate::NAME);
    }

    fn join_attempt(&mut self, _room: &mut Context<'_>, request: &JoinRequest) -> Result<(), Rejection> {
        if request.name.len() > NAME_BYTES_MAX {
            return Err(Rejection::new(ErrorCode::BadValue, "the name is longer than 24 bytes; choose a shorter one"));
        }
        if request.user.len() > ACCOUNT_BYTES_MAX {
            return Err(Rejection::new(ErrorCode::BadValue, "the account id is longer than 128 bytes"));
        }
        // The first byte of the client's metadata is the requested character.
        self.wanted = request.metadata.first().map(|wanted| (request.user.clone(), wanted % APPEARANCES));
        Ok(())
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        self.drop_returning();
        self.enter(room, player);
    }

    /// Continues with the same character, also if other players of the account are present.
    fn rejoin(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let character = self.returning.remove(&player);
        match character.filter(|character| room.user(player) == Some(&character.account)) {
            Some(character) => self.spawn_character(room, player, character),
            None => self.enter(room, player),
        }
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, _reason: CloseReason) {
        let Some(player_state) = self.players.remove(&player) else { return };
        room.world.despawn(player_state.presence);
        self.left = self.left.wrapping_add(1);
        if let Some(character) = Character::of(&player_state, player.0, room.world) {
            self.store_character(Character { is_present: false, left: self.left, number: 0, ..character });
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
        if let Some(dress) = message.read::<Dress>() {
            return self.dress(room, player, &dress.map_err(unreadable)?);
        }
        Err(Rejection::new(
            ErrorCode::UnknownCommand,
            "unknown command; Outpost has `building.place`, `building.remove` and `presence.dress`",
        ))
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        self.drop_returning();
        self.fly(room);
        self.aim_turrets(room);
        self.update_bodies(room);
        self.update_presence(room);
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
        }
        for (cell, built) in &self.structures {
            hasher.word(u64::from(cell.column) << 8 | u64::from(cell.row));
            hasher.bytes(built.builder.as_bytes());
        }
        for (cell, command) in &self.pending_commands {
            hasher.word(u64::from(cell.column) << 8 | u64::from(cell.row));
            hasher.word(u64::from(command.player) << 1 | u64::from(command.builds));
        }
        for (account, character) in &self.away {
            hasher.bytes(account.as_bytes());
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

    /// Spawns a joining player with the stored character of its account, or a new one.
    fn enter(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let account = room.user(player).unwrap_or_default().to_owned();
        let character = self.character(&account, player);
        self.spawn_character(room, player, character);
    }

    /// Spawns a character.
    fn spawn_character(&mut self, room: &mut Context<'_>, player: PlayerId, mut character: Character) {
        let account = character.account.clone();
        let name = room.name(player).unwrap_or_default().to_owned();
        if !is_free(character.player.position, &self.grid) {
            character.player = Player::at(spawn_point(player.0));
        }
        let structures = self.structures.values().filter(|built| built.is_of(&account)).count() as u32;
        if !self.has_capacity(room, 2) {
            return;
        }
        let Ok(body) = room.world.spawn(character.player.clone()) else { return };
        let has_body = room.world.insert(body, character.body(player.0)).is_ok();
        let presence = room.world.spawn(character.presence(player.0, &name, structures));
        let (true, Ok(presence)) = (has_body, presence) else {
            room.world.despawn(body);
            return;
        };
        room.possess(player, body);
        let Character { hits, falls, .. } = character;
        let protected_until = Tick(room.tick().0 + Self::PROTECTED_TICKS);
        self.players.insert(player, PlayerState { account, body, presence, protected_until, hits, falls, structures });
        self.claim_structures(room, player);
    }

    /// Returns the character of an account: the stored one, or a new one.
    fn character(&mut self, account: &str, player: PlayerId) -> Character {
        let wanted = self.wanted.take().filter(|(wanting, _)| wanting == account).map(|(_, appearance)| appearance);
        let fresh = || Character::fresh(account, spawn_point(player.0), (player.0 % u32::from(APPEARANCES)) as u8);
        let known = self.away.remove(account).unwrap_or_else(fresh);
        Character { appearance: wanted.unwrap_or(known.appearance), ..known }
    }

    /// Returns the character of an absent player.
    pub(crate) fn character_of(&mut self, player: PlayerId, account: &str) -> Option<&mut Character> {
        let returning = self.returning.get_mut(&player).filter(|character| character.account == account);
        returning.or_else(|| self.away.get_mut(account))
    }

    /// Stores the characters of players who did not rejoin after the room was rebuilt.
    fn drop_returning(&mut self) {
        while let Some((_, character)) = self.returning.pop_first() {
            self.left = self.left.wrapping_add(1);
            self.store_character(Character { is_present: false, left: self.left, number: 0, ..character });
        }
    }

    /// Stores the character of an absent player. Players without an account cannot be recognized again.
    fn store_character(&mut self, character: Character) {
        if character.account.is_empty() {
            return;
        }
        self.away.insert(character.account.clone(), character);
        if self.away.len() > CHARACTERS_MAX {
            let first = self.away.values().min_by_key(|character| character.left);
            if let Some(account) = first.map(|first| first.account.clone()) {
                self.away.remove(&account);
            }
        }
    }

    fn dress(&mut self, room: &mut Context<'_>, player: PlayerId, dress: &Dress) -> Result<(), Rejection> {
        let body = self.players.get(&player).and_then(|player_state| room.world.get_mut::<Body>(player_state.body));
        let body =
            body.ok_or_else(|| Rejection::new(ErrorCode::NotFound, "you have no character in this world; join again"))?;
        body.appearance = dress.appearance;
        Ok(())
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
