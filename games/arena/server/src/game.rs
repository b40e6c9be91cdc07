//! The game.

use crate::boards::Boards;
use crate::bot::{self, Myself};
use crate::eater::{BOTS_FROM, Eater, player_of};
use crate::profile::{self, Profile};
use aether_arena_rules::{
    Blob, DECAY_TICKS, Devoured, Dish, EDGE, Eaten, Label, Leaderboard, MASS_START, Paint, Pellet, Piece, Records,
    Steer,
};
use aether_bits::{Replicate, StateHasher};
use aether_engine::{Answer, Context, Game, GameSchemaBuilder, JoinRequest, PlayerMessage, Rejection, Viewpoint};
use aether_wire::{CloseReason, EntityId, ErrorCode, PlayerId, RequestId, Tick};
use std::collections::BTreeMap;

/// The longest name, as it fits a label.
pub(crate) const NAME_BYTES_MAX: usize = 16;
/// How many pellets lie about.
const PELLETS: usize = 800;
/// How many eaters a room has at least; bots fill it up.
const EATERS_MIN: u32 = 16;
/// A new bot comes every so many ticks, so that a room does not change at once.
const BOT_TICKS: u32 = 10;
/// A bot decides every so many ticks, as nobody does twenty times a second.
const THINK_TICKS: u32 = 4;
/// How long whoever was eaten waits: two seconds.
const BEGIN_TICKS: u32 = 40;
/// How often the boards are brought up to date: once a second.
const BOARD_TICKS: u32 = 20;

/// Arena.
pub struct Arena {
    eaters_min: u32,
    eaters: BTreeMap<u32, Eater>,
    /// The pellets and where they are.
    pellets: Vec<EntityId>,
    places: Vec<[f32; 2]>,
    /// The blobs, in the order of `entities`.
    dish: Dish,
    entities: Vec<EntityId>,
    next_bot: u32,
    boards: Boards,
    /// Whose profiles were asked for.
    asked: BTreeMap<RequestId, u32>,
}

impl Default for Arena {
    fn default() -> Self {
        Arena::with_eaters(EATERS_MIN)
    }
}

impl Game for Arena {
    type Input = Steer;

    fn declare(declaration: GameSchemaBuilder) -> GameSchemaBuilder {
        declaration
            .component::<Blob>()
            .component::<Label>()
            .component::<Pellet>()
            .component::<Leaderboard>()
            .component::<Records>()
            .event::<Paint>()
            .event::<Eaten>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        room.set_label(crate::NAME);
        self.strew(room);
        self.boards.ask(room);
    }

    fn join_attempt(&mut self, _room: &mut Context<'_>, joiner: &JoinRequest) -> Result<(), Rejection> {
        if joiner.name.len() > NAME_BYTES_MAX {
            return Err(Rejection::new(ErrorCode::BadValue, "a name has at most 16 bytes"));
        }
        Ok(())
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let account = room.user(player).unwrap_or_default().to_owned();
        let name = room.name(player).unwrap_or_default().to_owned();
        if !account.is_empty() {
            let request = room.request(Profile::load(&account));
            self.asked.insert(request, player.0);
        }
        let hue = room.random.below(256) as u8;
        self.eaters.insert(player.0, Eater::new(account, name, hue, room.tick()));
        self.watch(room, player);
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, _reason: CloseReason) {
        self.asked.retain(|_, number| *number != player.0);
        let Some(eater) = self.eaters.remove(&player.0) else { return };
        for blob in &eater.blobs {
            room.world.despawn(*blob);
        }
        self.keep(room, &eater);
    }

    fn resumed(&mut self, _room: &mut Context<'_>, player: PlayerId) {
        if let Some(eater) = self.eaters.get_mut(&player.0) {
            eater.steer = Steer::default();
        }
    }

    fn input(&mut self, _room: &mut Context<'_>, player: PlayerId, input: &Steer) {
        if let Some(eater) = self.eaters.get_mut(&player.0) {
            eater.steer(*input);
        }
    }

    fn message(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        message: &PlayerMessage<'_>,
    ) -> Result<(), Rejection> {
        let unknown = || Rejection::new(ErrorCode::UnknownCommand, "players paint themselves, and that is all");
        let paint = message.read::<Paint>().ok_or_else(unknown)?;
        let unreadable = |error| Rejection::new(ErrorCode::BadValue, format!("the message cannot be read: {error}"));
        self.paint(room, player.0, paint.map_err(unreadable)?.hue);
        if let Some(eater) = self.eaters.get_mut(&player.0) {
            eater.is_painted = true;
        }
        // At once, because a page that is loaded anew may read it before the player it was has left.
        self.save_profile(room, player.0);
        Ok(())
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        self.fill(room);
        self.lay_out(room);
        self.think(room);
        self.play(room);
        self.put_back(room);
        self.strew(room);
        self.begin_anew(room);
        if room.tick().0.is_multiple_of(BOARD_TICKS) {
            self.boards.show(room, &self.eaters);
            self.show_watchers(room);
        }
    }

    fn answer(&mut self, room: &mut Context<'_>, id: RequestId, answer: &Answer) {
        if self.boards.answer(room, id, answer) {
            return;
        }
        let Some(number) = self.asked.remove(&id) else { return };
        let profile = match answer {
            Answer::Value(Some(value)) => Profile::from_bytes(value),
            // There is none yet. What failed stays unknown, and nothing is written over it.
            Answer::Value(None) => {
                Some(Profile { hue: self.eaters.get(&number).map_or(0, |eater| eater.hue), best: 0 })
            }
            Answer::Done | Answer::Failed(_) => None,
        };
        if let (Some(profile), Some(eater)) = (profile, self.eaters.get_mut(&number)) {
            eater.best_before = Some(profile.best);
            if eater.is_painted {
                self.save_profile(room, number);
            } else {
                self.paint(room, number, profile.hue);
            }
        }
    }

    /// A server that stops keeps everyone's profile, as if they had left.
    fn terminate(&mut self, room: &mut Context<'_>) {
        for eater in std::mem::take(&mut self.eaters).into_values() {
            self.keep(room, &eater);
        }
    }

    fn signal(&mut self, room: &mut Context<'_>, _data: &[u8]) -> Vec<u8> {
        let bots = self.bots();
        let players = self.eaters.len() - bots;
        format!("{players} players, {bots} bots, {} entities", room.world.len()).into_bytes()
    }

    fn hash(&self, hasher: &mut StateHasher) {
        for (number, eater) in &self.eaters {
            hasher.word(u64::from(*number) << 32 | u64::from(eater.best));
            hasher.word(u64::from(eater.begins_at.map_or(0, |tick| tick.0)) << 1 | u64::from(eater.splits));
            eater.steer.aim.iter().for_each(|part| hasher.word(u64::from(part.to_bits())));
        }
    }
}

impl Arena {
    /// An arena that bots fill up to so many eaters.
    #[must_use]
    pub fn with_eaters(eaters_min: u32) -> Arena {
        Arena {
            eaters_min,
            eaters: BTreeMap::new(),
            pellets: Vec::new(),
            places: Vec::new(),
            dish: Dish::default(),
            entities: Vec::new(),
            next_bot: BOTS_FROM,
            boards: Boards::default(),
            asked: BTreeMap::new(),
        }
    }

    /// How many bots there are.
    #[must_use]
    pub fn bots(&self) -> usize {
        self.eaters.range(BOTS_FROM..).count()
    }

    /// What an eater weighs; nothing if there is no such one.
    #[must_use]
    pub fn mass_of(&self, eater: u32) -> Option<u32> {
        self.eaters.get(&eater).map(|eater| eater.mass)
    }

    /// Lets a bot in if the room is quiet. It goes when it is eaten and the room is no longer quiet.
    fn fill(&mut self, room: &mut Context<'_>) {
        if (self.eaters.len() as u32) < self.eaters_min && room.tick().0.is_multiple_of(BOT_TICKS) {
            let number = self.next_bot;
            self.next_bot = self.next_bot.checked_add(1).unwrap_or(BOTS_FROM);
            let name = bot::NAMES[number as usize % bot::NAMES.len()].to_owned();
            let hue = room.random.below(256) as u8;
            self.eaters.insert(number, Eater::new(String::new(), name, hue, room.tick()));
        }
    }

    /// Lays the blobs out as the rules want them.
    fn lay_out(&mut self, room: &Context<'_>) {
        self.dish.pieces.clear();
        self.entities.clear();
        for (number, eater) in &self.eaters {
            for entity in &eater.blobs {
                if let Some(blob) = room.world.get::<Blob>(*entity) {
                    self.dish.pieces.push(Piece::new(*number, blob.clone()));
                    self.entities.push(*entity);
                }
            }
        }
    }

    /// Lets the bots decide.
    fn think(&mut self, room: &mut Context<'_>) {
        let now = room.tick().0;
        for (&number, eater) in self.eaters.range_mut(BOTS_FROM..) {
            if !(now + number).is_multiple_of(THINK_TICKS) || eater.blobs.is_empty() {
                continue;
            }
            let me = Myself { number, place: eater.place, mass: heaviest(&self.dish, number) };
            let decision = bot::decide(me, &self.dish, &self.places, eater.wanders_to, room.random);
            eater.wanders_to = decision.wanders_to;
            eater.steer(decision.steer);
        }
    }

    /// One step by the rules.
    fn play(&mut self, room: &mut Context<'_>) {
        let now = room.tick().0;
        for (number, eater) in &mut self.eaters {
            if std::mem::take(&mut eater.splits) {
                self.dish.split(*number, eater.steer.aim, now);
            }
        }
        let eaters = &self.eaters;
        let aim = |number: u32| eaters.get(&number).map_or([0.0; 2], |eater| eater.steer.aim);
        self.dish.drive(aim, room.seconds_per_tick());
        self.dish.huddle(now);
        let mut eaten = Vec::new();
        self.dish.feed(&self.places, &mut eaten);
        for index in eaten.into_iter().rev() {
            self.places.swap_remove(index);
            room.world.despawn(self.pellets.swap_remove(index));
        }
        let devoured = self.dish.devour();
        if now.is_multiple_of(DECAY_TICKS) {
            self.dish.decay();
        }
        self.mourn(room, &devoured);
    }

    /// Writes the blobs back, spawns those that split off, and takes away those that are gone.
    fn put_back(&mut self, room: &mut Context<'_>) {
        for eater in self.eaters.values_mut() {
            eater.blobs.clear();
            eater.mass = 0;
        }
        let mut lost = Vec::new();
        for (index, piece) in self.dish.pieces.iter().enumerate() {
            let known = self.entities.get(index).copied();
            let Some(eater) = self.eaters.get_mut(&piece.eater) else { continue };
            match (known, piece.is_gone) {
                (Some(entity), true) => {
                    room.world.despawn(entity);
                }
                (Some(entity), false) => {
                    if let Some(blob) = room.world.get_mut::<Blob>(entity) {
                        blob.clone_from(&piece.blob);
                    }
                    eater.blobs.push(entity);
                }
                (None, false) => match spawn(room, &piece.blob, eater.label(piece.eater)) {
                    Some(entity) => eater.blobs.push(entity),
                    // A full room: what would have split off stays with the rest.
                    None => lost.push((piece.eater, piece.blob.mass)),
                },
                (None, true) => {}
            }
            if !piece.is_gone {
                eater.mass += piece.blob.mass;
            }
        }
        for (number, mass) in lost {
            self.give(room, number, mass);
        }
        self.focus(room);
    }

    /// Gives mass to the first blob of an eater.
    fn give(&mut self, room: &mut Context<'_>, number: u32, mass: u32) {
        let first = self.eaters.get(&number).and_then(|eater| eater.blobs.first());
        if let Some(blob) = first.and_then(|blob| room.world.get_mut::<Blob>(*blob)) {
            blob.mass += mass;
        }
    }

    /// Notes where everyone is, and lets players look from a blob that they still have.
    fn focus(&mut self, room: &mut Context<'_>) {
        for (&number, eater) in &mut self.eaters {
            eater.best = eater.best.max(eater.mass);
            let weight = |entity: &EntityId| room.world.get::<Blob>(*entity).map_or(0, |blob| blob.mass);
            let Some(&largest) = eater.blobs.iter().max_by_key(|entity| weight(entity)) else { continue };
            if let Some(blob) = room.world.get::<Blob>(largest) {
                eater.place = blob.position;
            }
            if let Some(player) = player_of(number)
                && !room.possession(player).is_some_and(|blob| eater.blobs.contains(&blob))
            {
                room.possess(player, largest);
            }
        }
    }

    /// Whoever has no blob left waits for a new beginning.
    fn mourn(&mut self, room: &mut Context<'_>, devoured: &[Devoured]) {
        for Devoured { prey, by } in devoured {
            let [number, by] = [*prey, *by].map(|index| self.dish.pieces[index].eater);
            if self.dish.alive().any(|(_, piece)| piece.eater == number) {
                continue;
            }
            let Some(eater) = self.eaters.get_mut(&number).filter(|eater| eater.begins_at.is_none()) else { continue };
            eater.begins_at = Some(Tick(room.tick().0 + BEGIN_TICKS));
            let (best, place) = (eater.best, eater.place);
            room.broadcast(&Eaten { eater: number, by, best });
            if let Some(player) = player_of(number) {
                // It goes on to see where it was eaten.
                room.set_viewpoint(player, Viewpoint::At(place));
            }
            self.submit(room, number);
        }
    }

    /// Lets those begin whose time has come. A bot that a room no longer needs does not.
    fn begin_anew(&mut self, room: &mut Context<'_>) {
        let now = room.tick();
        let due = self.eaters.iter().filter(|(number, eater)| eater.is_due(**number, now));
        let due: Vec<u32> = due.map(|(number, _)| *number).collect();
        for number in due {
            if number >= BOTS_FROM && self.eaters.len() as u32 > self.eaters_min {
                self.eaters.remove(&number);
            } else {
                self.begin(room, number);
            }
        }
    }

    fn begin(&mut self, room: &mut Context<'_>, number: u32) {
        let place = somewhere(room);
        let Some(eater) = self.eaters.get_mut(&number) else { return };
        let mut blob = Blob::at(place, MASS_START);
        blob.snap();
        // In a full room it tries again at the next tick.
        let Some(entity) = spawn(room, &blob, eater.label(number)) else { return };
        eater.blobs = vec![entity];
        (eater.place, eater.mass, eater.begins_at) = (blob.position, blob.mass, None);
        if let Some(player) = player_of(number) {
            room.set_viewpoint(player, Viewpoint::Possession);
            room.possess(player, entity);
        }
    }

    /// Lets those who may begin, and do not, look at the heaviest.
    fn show_watchers(&self, room: &mut Context<'_>) {
        let now = room.tick();
        for (&number, eater) in &self.eaters {
            if let Some(player) = player_of(number)
                && eater.begins_at.is_some_and(|at| at <= now)
            {
                self.watch(room, player);
            }
        }
    }

    /// Lets a player without blobs look at the heaviest; in an empty room, at the middle.
    fn watch(&self, room: &mut Context<'_>, player: PlayerId) {
        let heaviest = self.eaters.values().filter(|eater| eater.mass > 0).max_by_key(|eater| eater.mass);
        room.set_viewpoint(player, Viewpoint::At(heaviest.map_or([0.0; 2], |eater| eater.place)));
    }

    /// Puts pellets where some are missing.
    fn strew(&mut self, room: &mut Context<'_>) {
        while self.pellets.len() < PELLETS {
            let mut pellet = Pellet { position: somewhere(room), hue: room.random.below(256) as u8 };
            pellet.snap();
            let place = pellet.position;
            // A full room has to do with fewer.
            let Ok(entity) = room.world.spawn(pellet) else { return };
            self.pellets.push(entity);
            self.places.push(place);
        }
    }

    fn paint(&mut self, room: &mut Context<'_>, number: u32, hue: u8) {
        let Some(eater) = self.eaters.get_mut(&number) else { return };
        eater.hue = hue;
        for blob in &eater.blobs {
            if let Some(label) = room.world.get_mut::<Label>(*blob) {
                label.hue = hue;
            }
        }
    }

    /// Submits the most that a player weighed, if it is more than ever.
    fn submit(&mut self, room: &mut Context<'_>, number: u32) {
        let Some(eater) = self.eaters.get_mut(&number) else { return };
        if !eater.account.is_empty() && eater.best > eater.best_before.unwrap_or(0) {
            room.request(profile::submit(&eater.account, eater.best));
        }
    }

    /// Keeps what is to be kept of a player who leaves.
    fn keep(&self, room: &mut Context<'_>, eater: &Eater) {
        if eater.account.is_empty() {
            return;
        }
        if eater.best > eater.best_before.unwrap_or(0) {
            room.request(profile::submit(&eater.account, eater.best));
        }
        request_save(room, eater);
    }

    /// Writes the profile of a player.
    fn save_profile(&self, room: &mut Context<'_>, number: u32) {
        if let Some(eater) = self.eaters.get(&number) {
            request_save(room, eater);
        }
    }
}

/// Writes a profile, if the stored one was read: without that, writing could only lose it.
fn request_save(room: &mut Context<'_>, eater: &Eater) {
    if !eater.account.is_empty() && eater.best_before.is_some() {
        room.request(Profile { hue: eater.hue, best: eater.best_ever() }.save(&eater.account));
    }
}

fn spawn(room: &mut Context<'_>, blob: &Blob, label: Label) -> Option<EntityId> {
    let entity = room.world.spawn(blob.clone()).ok()?;
    if room.world.insert(entity, label).is_err() {
        room.world.despawn(entity);
        return None;
    }
    Some(entity)
}

fn heaviest(dish: &Dish, number: u32) -> u32 {
    let own = dish.alive().filter(|(_, piece)| piece.eater == number);
    own.map(|(_, piece)| piece.blob.mass).max().unwrap_or(0)
}

fn somewhere(room: &mut Context<'_>) -> [f32; 2] {
    [room.random.between(-EDGE, EDGE) * 0.97, room.random.between(-EDGE, EDGE) * 0.97]
}
