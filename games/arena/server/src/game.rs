//! The game.

use crate::boards::Boards;
use crate::bot::{self, BotState};
use crate::eater::{BOTS_FROM, Eater, player_of};
use crate::profile::{self, Profile};
use aether::names::shortened;
use aether::prelude::*;
use aether_arena_rules::{
    Blob, DECAY_TICKS, Devoured, Dish, EDGE, Eaten, Label, Leaderboard, MASS_START, Paint, Pellet, Piece, Records,
    Steer,
};
use std::collections::BTreeMap;

/// Maximum length of a name, as in a label. Longer names are shortened.
pub(crate) const NAME_BYTES_MAX: usize = 16;
/// Number of pellets.
const PELLETS: usize = 800;
/// Minimum number of eaters; bots fill the room up to it.
const EATERS_MIN: u32 = 16;
/// Number of ticks between two new bots.
const BOT_TICKS: u32 = 10;
/// Number of ticks between two decisions of a bot.
const THINK_TICKS: u32 = 4;
/// Respawn delay after being eaten: two seconds.
const RESPAWN_TICKS: u32 = 40;
/// Update interval of the leaderboards: once a second.
const BOARD_TICKS: u32 = 20;

/// Arena.
pub struct Arena {
    eaters_min: u32,
    eaters: BTreeMap<u32, Eater>,
    /// Entities of the pellets, and their positions in the same order.
    pellets: Vec<EntityId>,
    pellet_positions: Vec<[f32; 2]>,
    /// Blobs, in the order of `entities`.
    dish: Dish,
    entities: Vec<EntityId>,
    next_bot: u32,
    boards: Boards,
    /// Pending requests for profiles, with the eater's number.
    pending_profiles: BTreeMap<RequestId, u32>,
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
        self.spawn_pellets(room);
        self.boards.request_records(room);
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let account = room.user(player).unwrap_or_default().to_owned();
        let name = shortened(room.name(player).unwrap_or_default(), NAME_BYTES_MAX).into_owned();
        if !account.is_empty() {
            let request = room.request(Profile::load(&account));
            self.pending_profiles.insert(request, player.0);
        }
        let hue = room.random.below(256) as u8;
        self.eaters.insert(player.0, Eater::new(account, name, hue, room.tick()));
        self.look_at_heaviest(room, player);
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, _reason: CloseReason) {
        self.pending_profiles.retain(|_, number| *number != player.0);
        let Some(eater) = self.eaters.remove(&player.0) else { return };
        for blob in &eater.blobs {
            room.world.despawn(*blob);
        }
        self.store_results(room, &eater);
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
        let unknown = || Rejection::new(ErrorCode::UnknownCommand, "unknown command; Arena has only `labels.paint`");
        let paint = message.read::<Paint>().ok_or_else(unknown)?;
        let unreadable = |error| Rejection::new(ErrorCode::BadValue, format!("the message cannot be read: {error}"));
        self.paint(room, player.0, paint.map_err(unreadable)?.hue);
        if let Some(eater) = self.eaters.get_mut(&player.0) {
            eater.is_painted = true;
        }
        // At once, because a reloaded page may read it before the previous player has left.
        self.save_profile(room, player.0);
        Ok(())
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        self.add_bots(room);
        self.load_dish(room);
        self.decide_bots(room);
        self.step(room);
        self.write_back(room);
        self.spawn_pellets(room);
        self.spawn_due(room);
        if room.tick().0.is_multiple_of(BOARD_TICKS) {
            self.boards.show(room, &self.eaters);
            self.update_watchers(room);
        }
    }

    fn answer(&mut self, room: &mut Context<'_>, id: RequestId, answer: &Answer) {
        if self.boards.answer(room, id, answer) {
            return;
        }
        let Some(number) = self.pending_profiles.remove(&id) else { return };
        let profile = match answer {
            Answer::Value(Some(value)) => Profile::from_bytes(value),
            // There is no profile yet. After a failure it stays unknown, and nothing overwrites it.
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

    /// Stores everyone's profile, as if they had left.
    fn terminate(&mut self, room: &mut Context<'_>) {
        for eater in std::mem::take(&mut self.eaters).into_values() {
            self.store_results(room, &eater);
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
            hasher.word(u64::from(eater.spawns_at.map_or(0, |tick| tick.0)) << 1 | u64::from(eater.splits));
            eater.steer.aim.iter().for_each(|part| hasher.word(u64::from(part.to_bits())));
        }
    }
}

impl Arena {
    /// Creates an arena that bots fill up to `eaters_min` eaters.
    #[must_use]
    pub fn with_eaters(eaters_min: u32) -> Arena {
        Arena {
            eaters_min,
            eaters: BTreeMap::new(),
            pellets: Vec::new(),
            pellet_positions: Vec::new(),
            dish: Dish::default(),
            entities: Vec::new(),
            next_bot: BOTS_FROM,
            boards: Boards::default(),
            pending_profiles: BTreeMap::new(),
        }
    }

    /// Returns the number of bots.
    #[must_use]
    pub fn bots(&self) -> usize {
        self.eaters.range(BOTS_FROM..).count()
    }

    /// Returns the mass of an eater, if it exists.
    #[must_use]
    pub fn mass_of(&self, eater: u32) -> Option<u32> {
        self.eaters.get(&eater).map(|eater| eater.mass)
    }

    /// Adds a bot if the room has too few eaters. Superfluous bots leave when they are eaten.
    fn add_bots(&mut self, room: &mut Context<'_>) {
        if (self.eaters.len() as u32) < self.eaters_min && room.tick().0.is_multiple_of(BOT_TICKS) {
            let number = self.next_bot;
            self.next_bot = self.next_bot.checked_add(1).unwrap_or(BOTS_FROM);
            let name = bot::NAMES[number as usize % bot::NAMES.len()].to_owned();
            let hue = room.random.below(256) as u8;
            self.eaters.insert(number, Eater::new(String::new(), name, hue, room.tick()));
        }
    }

    /// Loads the blobs into the dish.
    fn load_dish(&mut self, room: &Context<'_>) {
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

    /// Decides for the bots.
    fn decide_bots(&mut self, room: &mut Context<'_>) {
        let now = room.tick().0;
        for (&number, eater) in self.eaters.range_mut(BOTS_FROM..) {
            if !(now + number).is_multiple_of(THINK_TICKS) || eater.blobs.is_empty() {
                continue;
            }
            let me = BotState { number, position: eater.position, mass: heaviest(&self.dish, number) };
            let decision = bot::decide(me, &self.dish, &self.pellet_positions, eater.wanders_to, room.random);
            eater.wanders_to = decision.wanders_to;
            eater.steer(decision.steer);
        }
    }

    /// Runs one step of the rules.
    fn step(&mut self, room: &mut Context<'_>) {
        let now = room.tick().0;
        for (number, eater) in &mut self.eaters {
            if std::mem::take(&mut eater.splits) {
                self.dish.split(*number, eater.steer.aim, now);
            }
        }
        let eaters = &self.eaters;
        let aim = |number: u32| eaters.get(&number).map_or([0.0; 2], |eater| eater.steer.aim);
        self.dish.drive(aim, room.seconds_per_tick());
        self.dish.merge_or_separate(now);
        let mut eaten = Vec::new();
        self.dish.feed(&self.pellet_positions, &mut eaten);
        for index in eaten.into_iter().rev() {
            self.pellet_positions.swap_remove(index);
            room.world.despawn(self.pellets.swap_remove(index));
        }
        let devoured = self.dish.devour();
        if now.is_multiple_of(DECAY_TICKS) {
            self.dish.decay();
        }
        self.handle_eaten(room, &devoured);
    }

    /// Writes the blobs back, spawns those that split off, and despawns those that are gone.
    fn write_back(&mut self, room: &mut Context<'_>) {
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
                    // In a full room, the part that split off returns to the eater.
                    None => lost.push((piece.eater, piece.blob.mass)),
                },
                (None, true) => {}
            }
            if !piece.is_gone {
                eater.mass += piece.blob.mass;
            }
        }
        for (number, mass) in lost {
            self.add_mass(room, number, mass);
        }
        self.update_possessions(room);
    }

    /// Adds mass to the first blob of an eater.
    fn add_mass(&mut self, room: &mut Context<'_>, number: u32, mass: u32) {
        let first = self.eaters.get(&number).and_then(|eater| eater.blobs.first());
        if let Some(blob) = first.and_then(|blob| room.world.get_mut::<Blob>(*blob)) {
            blob.mass += mass;
        }
    }

    /// Updates positions and masses, and possesses a remaining blob for each player.
    fn update_possessions(&mut self, room: &mut Context<'_>) {
        for (&number, eater) in &mut self.eaters {
            eater.best = eater.best.max(eater.mass);
            let weight = |entity: &EntityId| room.world.get::<Blob>(*entity).map_or(0, |blob| blob.mass);
            let Some(&largest) = eater.blobs.iter().max_by_key(|entity| weight(entity)) else { continue };
            if let Some(blob) = room.world.get::<Blob>(largest) {
                eater.position = blob.position;
            }
            if let Some(player) = player_of(number)
                && !room.possession(player).is_some_and(|blob| eater.blobs.contains(&blob))
            {
                room.possess(player, largest);
            }
        }
    }

    /// Schedules the respawn of eaters without blobs, and announces them as eaten.
    fn handle_eaten(&mut self, room: &mut Context<'_>, devoured: &[Devoured]) {
        for Devoured { prey, by } in devoured {
            let [number, by] = [*prey, *by].map(|index| self.dish.pieces[index].eater);
            if self.dish.alive().any(|(_, piece)| piece.eater == number) {
                continue;
            }
            let Some(eater) = self.eaters.get_mut(&number).filter(|eater| eater.spawns_at.is_none()) else { continue };
            eater.spawns_at = Some(Tick(room.tick().0 + RESPAWN_TICKS));
            let (best, position) = (eater.best, eater.position);
            room.broadcast(&Eaten { eater: number, by, best });
            if let Some(player) = player_of(number) {
                // The player continues to see where it was eaten.
                room.set_viewpoint(player, Viewpoint::At(position));
            }
            self.submit(room, number);
        }
    }

    /// Spawns the eaters that are due. Superfluous bots are removed instead.
    fn spawn_due(&mut self, room: &mut Context<'_>) {
        let now = room.tick();
        let due = self.eaters.iter().filter(|(number, eater)| eater.is_due(**number, now));
        let due: Vec<u32> = due.map(|(number, _)| *number).collect();
        for number in due {
            if number >= BOTS_FROM && self.eaters.len() as u32 > self.eaters_min {
                self.eaters.remove(&number);
            } else {
                self.spawn_eater(room, number);
            }
        }
    }

    fn spawn_eater(&mut self, room: &mut Context<'_>, number: u32) {
        let position = random_position(room);
        let Some(eater) = self.eaters.get_mut(&number) else { return };
        let mut blob = Blob::at(position, MASS_START);
        blob.snap();
        // In a full room it is tried again in the next tick.
        let Some(entity) = spawn(room, &blob, eater.label(number)) else { return };
        eater.blobs = vec![entity];
        (eater.position, eater.mass, eater.spawns_at) = (blob.position, blob.mass, None);
        if let Some(player) = player_of(number) {
            room.set_viewpoint(player, Viewpoint::Possession);
            room.possess(player, entity);
        }
    }

    /// Updates the viewpoint of players who could spawn but only watch.
    fn update_watchers(&self, room: &mut Context<'_>) {
        let now = room.tick();
        for (&number, eater) in &self.eaters {
            if let Some(player) = player_of(number)
                && eater.spawns_at.is_some_and(|at| at <= now)
            {
                self.look_at_heaviest(room, player);
            }
        }
    }

    /// Sets a player's viewpoint to the heaviest eater; in an empty room, to the center.
    fn look_at_heaviest(&self, room: &mut Context<'_>, player: PlayerId) {
        let heaviest = self.eaters.values().filter(|eater| eater.mass > 0).max_by_key(|eater| eater.mass);
        room.set_viewpoint(player, Viewpoint::At(heaviest.map_or([0.0; 2], |eater| eater.position)));
    }

    /// Spawns missing pellets.
    fn spawn_pellets(&mut self, room: &mut Context<'_>) {
        while self.pellets.len() < PELLETS {
            let mut pellet = Pellet { position: random_position(room), hue: room.random.below(256) as u8 };
            pellet.snap();
            let position = pellet.position;
            // A full room has fewer pellets.
            let Ok(entity) = room.world.spawn(pellet) else { return };
            self.pellets.push(entity);
            self.pellet_positions.push(position);
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

    /// Submits a player's highest mass if it is a new record.
    fn submit(&mut self, room: &mut Context<'_>, number: u32) {
        let Some(eater) = self.eaters.get_mut(&number) else { return };
        if !eater.account.is_empty() && eater.best > eater.best_before.unwrap_or(0) {
            room.request(profile::submit(&eater.account, eater.best));
        }
    }

    /// Stores score and profile of a player who leaves.
    fn store_results(&self, room: &mut Context<'_>, eater: &Eater) {
        if eater.account.is_empty() {
            return;
        }
        if eater.best > eater.best_before.unwrap_or(0) {
            room.request(profile::submit(&eater.account, eater.best));
        }
        request_save(room, eater);
    }

    /// Stores the profile of a player.
    fn save_profile(&self, room: &mut Context<'_>, number: u32) {
        if let Some(eater) = self.eaters.get(&number) {
            request_save(room, eater);
        }
    }
}

/// Stores a profile only if the stored one was read: otherwise it would be overwritten.
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

fn random_position(room: &mut Context<'_>) -> [f32; 2] {
    [room.random.between(-EDGE, EDGE) * 0.97, room.random.between(-EDGE, EDGE) * 0.97]
}
