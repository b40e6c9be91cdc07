//! The game.

use crate::building::Plot;
use crate::deed::Deed;
use crate::save::{CHARACTERS_MAX, Saved};
use crate::settler::{Character, Settler};
use aether_bits::{ReadError, StateHasher};
use aether_engine::{Context, Game, GameSchemaBuilder, JoinRequest, PlayerMessage, Rejection};
use aether_outpost_rules::{
    APPEARANCES, Body, Cell, Controls, Destroyed, Dress, Fallen, Grid, Hit, MATERIAL_MAX, Place, Player, Presence,
    Remove, Shot, Structure, is_free, spawn_point, walk,
};
use aether_wire::{CloseReason, ErrorCode, PlayerId, Tick};
use aether_world::World;
use std::collections::BTreeMap;

/// The longest name, as it fits [`Presence`].
const NAME_BYTES_MAX: usize = 24;
/// The longest account, as it fits a checkpoint.
const ACCOUNT_BYTES_MAX: usize = 128;
/// A player gets one unit of material every so many ticks: half a second.
const MATERIAL_TICKS: u32 = 15;

/// Outpost.
#[derive(Default)]
pub struct Outpost {
    pub(crate) settlers: BTreeMap<PlayerId, Settler>,
    /// What stands where, as the rules ask it.
    pub(crate) grid: Grid,
    /// The same structures as entities, with their builders.
    pub(crate) plots: BTreeMap<Cell, Plot>,
    /// What is promised and not yet stored.
    pub(crate) deeds: BTreeMap<Cell, Deed>,
    /// The characters of those who were in when the room was kept, until they are in again.
    returning: BTreeMap<PlayerId, Character>,
    /// The characters of those who are away, by account.
    away: BTreeMap<String, Character>,
    /// Which character an account wants to be when it joins.
    wanted: Option<(String, u8)>,
    /// How many have left.
    left: u32,
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

    fn join_attempt(&mut self, _room: &mut Context<'_>, joiner: &JoinRequest) -> Result<(), Rejection> {
        if joiner.name.len() > NAME_BYTES_MAX {
            return Err(Rejection::new(ErrorCode::BadValue, "a name has at most 24 bytes"));
        }
        if joiner.user.len() > ACCOUNT_BYTES_MAX {
            return Err(Rejection::new(ErrorCode::BadValue, "an account's id has at most 128 bytes"));
        }
        // The first byte of what a client says of itself is the character it wants to be.
        self.wanted = joiner.metadata.first().map(|wanted| (joiner.user.clone(), wanted % APPEARANCES));
        Ok(())
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        self.see_off();
        self.begin(room, player);
    }

    /// Goes on where they were, also if others of the same account are in.
    fn rejoin(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let character = self.returning.remove(&player);
        match character.filter(|character| room.user(player) == Some(&character.account)) {
            Some(character) => self.settle(room, player, character),
            None => self.begin(room, player),
        }
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, _reason: CloseReason) {
        let Some(settler) = self.settlers.remove(&player) else { return };
        room.world.despawn(settler.presence);
        self.left = self.left.wrapping_add(1);
        if let Some(character) = Character::of(&settler, player.0, room.world) {
            self.keep(Character { is_present: false, left: self.left, number: 0, ..character });
        }
        for plot in self.plots.values().filter(|plot| plot.is_of(&settler.account)) {
            if let Some(structure) = room.world.get_mut::<Structure>(plot.entity) {
                structure.builder = 0;
            }
        }
    }

    /// One input is one step, whenever it arrives: a client that predicts gets the same.
    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Controls) {
        let seconds = room.seconds_per_tick();
        let Some(settler) = self.settlers.get_mut(&player) else { return };
        let Some(body) = room.world.get_mut::<Player>(settler.body) else { return };
        if walk(body, input, &self.grid, seconds).fired {
            let shot = body.fire(player.0);
            // Whoever shoots is not spared.
            settler.protected_until = room.tick();
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
        Err(Rejection::new(ErrorCode::UnknownCommand, "players place, remove and dress"))
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        self.see_off();
        self.fly(room);
        self.aim_turrets(room);
        self.supply(room);
        self.show_presence(room);
    }

    fn committed(&mut self, room: &mut Context<'_>, entry: &[u8]) {
        if let Some(deed) = Deed::from_bytes(entry) {
            self.fulfil(room, &deed);
        }
    }

    fn uncommitted(&mut self, _room: &mut Context<'_>, entry: &[u8]) {
        if let Some(deed) = Deed::from_bytes(entry) {
            self.release(&deed);
        }
    }

    fn signal(&mut self, room: &mut Context<'_>, _data: &[u8]) -> Vec<u8> {
        let (players, structures) = (self.settlers.len(), self.plots.len());
        format!("{players} players, {structures} structures, {} entities", room.world.len()).into_bytes()
    }

    fn checkpoint(&self, world: &World) -> Option<Vec<u8>> {
        let structures = self
            .plots
            .iter()
            .filter_map(|(cell, plot)| Some((*cell, world.get::<Structure>(plot.entity)?, plot.builder.as_str())));
        let mut characters: Vec<Character> = self.away.values().chain(self.returning.values()).cloned().collect();
        characters.extend(self.settlers.iter().filter_map(|(id, settler)| Character::of(settler, id.0, world)));
        Some(Saved::new(structures, characters).to_bytes())
    }

    fn restore(&mut self, room: &mut Context<'_>, checkpoint: &[u8]) -> Result<(), Rejection> {
        let saved = Saved::from_bytes(checkpoint)
            .map_err(|error| Rejection::new(ErrorCode::BadValue, format!("the checkpoint of Outpost: {error}")))?;
        for (structure, builder) in saved.structures() {
            self.raise(room, structure, builder.to_owned());
        }
        for character in saved.characters {
            self.left = self.left.max(character.left);
            if character.is_present {
                self.returning.insert(PlayerId(character.number), character);
            } else {
                self.keep(character);
            }
        }
        room.set_label(crate::NAME);
        Ok(())
    }

    fn hash(&self, hasher: &mut StateHasher) {
        for (player, settler) in &self.settlers {
            hasher.word(u64::from(player.0) << 32 | u64::from(settler.protected_until.0));
            hasher.word(u64::from(settler.hits) << 32 | u64::from(settler.falls) << 16 | u64::from(settler.structures));
        }
        for (cell, plot) in &self.plots {
            hasher.word(u64::from(cell.column) << 8 | u64::from(cell.row));
            hasher.bytes(plot.builder.as_bytes());
        }
        for (cell, deed) in &self.deeds {
            hasher.word(u64::from(cell.column) << 8 | u64::from(cell.row));
            hasher.word(u64::from(deed.player) << 1 | u64::from(deed.builds));
        }
        for (account, character) in &self.away {
            hasher.bytes(account.as_bytes());
            hasher.word(u64::from(character.left));
        }
    }
}

impl Outpost {
    /// For how long nothing hurts a player who has just come, or fallen: two seconds.
    pub(crate) const PROTECTED_TICKS: u32 = 60;

    /// How often a player has hit someone.
    #[must_use]
    pub fn hits_of(&self, player: PlayerId) -> u16 {
        self.settlers.get(&player).map_or(0, |settler| settler.hits)
    }

    /// Lets a player in with the character that its account left, or a new one.
    fn begin(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let account = room.user(player).unwrap_or_default().to_owned();
        let character = self.character(&account, player);
        self.settle(room, player, character);
    }

    /// Puts a character into the world.
    fn settle(&mut self, room: &mut Context<'_>, player: PlayerId, mut character: Character) {
        let account = character.account.clone();
        let name = room.name(player).unwrap_or_default().to_owned();
        if !is_free(character.player.position, &self.grid) {
            character.player = Player::at(spawn_point(player.0));
        }
        let structures = self.plots.values().filter(|plot| plot.is_of(&account)).count() as u32;
        if !self.has_place(room, 2) {
            return;
        }
        let Ok(body) = room.world.spawn(character.player.clone()) else { return };
        let is_dressed = room.world.insert(body, character.body(player.0)).is_ok();
        let presence = room.world.spawn(character.presence(player.0, &name, structures));
        let (true, Ok(presence)) = (is_dressed, presence) else {
            room.world.despawn(body);
            return;
        };
        room.possess(player, body);
        let Character { hits, falls, .. } = character;
        let protected_until = Tick(room.tick().0 + Self::PROTECTED_TICKS);
        self.settlers.insert(player, Settler { account, body, presence, protected_until, hits, falls, structures });
        self.sign(room, player);
    }

    /// The character of an account: the one that it left, or a new one.
    fn character(&mut self, account: &str, player: PlayerId) -> Character {
        let wanted = self.wanted.take().filter(|(wanting, _)| wanting == account).map(|(_, appearance)| appearance);
        let fresh = || Character::fresh(account, spawn_point(player.0), (player.0 % u32::from(APPEARANCES)) as u8);
        let known = self.away.remove(account).unwrap_or_else(fresh);
        Character { appearance: wanted.unwrap_or(known.appearance), ..known }
    }

    /// The character of someone who is not in.
    pub(crate) fn character_of(&mut self, player: PlayerId, account: &str) -> Option<&mut Character> {
        let returning = self.returning.get_mut(&player).filter(|character| character.account == account);
        returning.or_else(|| self.away.get_mut(account))
    }

    /// Those who have no place any more since the room was rebuilt are away.
    fn see_off(&mut self) {
        while let Some((_, character)) = self.returning.pop_first() {
            self.left = self.left.wrapping_add(1);
            self.keep(Character { is_present: false, left: self.left, number: 0, ..character });
        }
    }

    /// Keeps the character of someone who is away. Nobody without an account can be known again.
    fn keep(&mut self, character: Character) {
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
        let body = self.settlers.get(&player).and_then(|settler| room.world.get_mut::<Body>(settler.body));
        let body = body.ok_or_else(|| Rejection::new(ErrorCode::NotFound, "you have no character in this world"))?;
        body.appearance = dress.appearance;
        Ok(())
    }

    /// Hands out material, and ends the protection of those for whom it is over.
    fn supply(&mut self, room: &mut Context<'_>) {
        let now = room.tick();
        let more = i32::from(now.0.is_multiple_of(MATERIAL_TICKS));
        for settler in self.settlers.values() {
            let Some(body) = room.world.get::<Body>(settler.body) else { continue };
            let material = (body.material + more).min(MATERIAL_MAX);
            let is_protected = now < settler.protected_until;
            if (material != body.material || is_protected != body.is_protected)
                && let Some(body) = room.world.get_mut::<Body>(settler.body)
            {
                (body.material, body.is_protected) = (material, is_protected);
            }
        }
    }

    /// Keeps everyone's line in the list of those who are in.
    fn show_presence(&mut self, room: &mut Context<'_>) {
        for settler in self.settlers.values() {
            let appearance = room.world.get::<Body>(settler.body).map_or(0, |body| body.appearance);
            let Some(shown) = room.world.get::<Presence>(settler.presence) else { continue };
            let structures = settler.structures as u16;
            let now = (appearance, settler.hits, settler.falls, structures);
            if now != (shown.appearance, shown.hits, shown.falls, shown.structures)
                && let Some(shown) = room.world.get_mut::<Presence>(settler.presence)
            {
                (shown.appearance, shown.hits, shown.falls, shown.structures) = now;
            }
        }
    }
}

fn unreadable(error: ReadError) -> Rejection {
    Rejection::new(ErrorCode::BadValue, format!("the message cannot be read: {error}"))
}
