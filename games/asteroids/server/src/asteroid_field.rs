//! Asteroids of the current wave.

use aether::libm::{cosf, sinf};
use aether::prelude::*;
use aether_asteroids_rules::{
    Asteroid, AsteroidSize, HEIGHT, Ship, TICK_HZ, WIDTH, Wave, asteroids_of, drift, offset, split,
};
use std::f32::consts::TAU;

/// Pause between two waves: two seconds.
const PAUSE_TICKS: u32 = 2 * TICK_HZ;
/// Distance that new asteroids keep from ships, if there is room.
const CLEARANCE: f32 = 320.0;
/// Number of positions that are tried for a new asteroid or ship.
const ATTEMPTS: u32 = 12;
/// Range of speeds of large asteroids in the first wave, in units a second.
const SPEEDS: [f32; 2] = [28.0, 80.0];
/// Additional speed in each further wave, in units a second.
const SPEED_MORE: f32 = 5.0;
/// Number of waves after which asteroids are not faster any more.
const FASTER_WAVES_MAX: u16 = 10;

/// Asteroids of the current wave.
#[derive(Debug, Default)]
pub struct AsteroidField {
    /// Entity of the [`Wave`].
    entity: Option<EntityId>,
    number: u16,
    /// Tick of the next wave, while there are no asteroids.
    next_at: Option<Tick>,
}

impl AsteroidField {
    /// Removes all asteroids and starts with the first wave.
    pub fn reset(&mut self, room: &mut Context<'_>) {
        let all: Vec<EntityId> = room.world.each::<Asteroid>().map(|(id, _)| id).collect();
        for asteroid in all {
            room.world.despawn(asteroid);
        }
        (self.number, self.next_at) = (0, None);
        self.start_wave(room);
    }

    /// Moves the asteroids, and starts the next wave after a pause.
    pub fn update(&mut self, room: &mut Context<'_>) {
        room.world.each_mut(|_, asteroid: &mut Asteroid| drift(asteroid));
        let asteroids = room.world.each::<Asteroid>().count();
        match self.next_at {
            None if asteroids == 0 => self.next_at = Some(Tick(room.tick().0 + PAUSE_TICKS)),
            Some(at) if at <= room.tick() => self.start_wave(room),
            _ => {}
        }
        self.show(room);
    }

    /// Removes an asteroid and spawns its parts.
    pub fn break_up(&mut self, room: &mut Context<'_>, id: EntityId) {
        let Some(asteroid) = room.world.get::<Asteroid>(id).cloned() else { return };
        room.world.despawn(id);
        for part in split(&asteroid, room.random).into_iter().flatten() {
            // A full room has fewer parts.
            let _ = room.world.spawn(part);
        }
    }

    /// Number of the wave.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Adds the state to a hash.
    pub fn hash(&self, hasher: &mut StateHasher) {
        hasher.word(u64::from(self.number) << 32 | u64::from(self.next_at.map_or(0, |tick| tick.0)));
    }

    fn start_wave(&mut self, room: &mut Context<'_>) {
        self.number = self.number.saturating_add(1);
        self.next_at = None;
        let players = room.players().count() as u32;
        let faster = SPEED_MORE * f32::from(self.number.min(FASTER_WAVES_MAX) - 1);
        for _ in 0..asteroids_of(self.number, players) {
            let ships: Vec<[f32; 2]> = room.world.each::<Ship>().map(|(_, ship)| ship.position).collect();
            let position = clear_position(room.random, &ships);
            let (angle, speed) = (room.random.unit() * TAU, room.random.between(SPEEDS[0], SPEEDS[1]) + faster);
            let velocity = [cosf(angle) * speed, sinf(angle) * speed];
            let _ = room.world.spawn(Asteroid::at(position, velocity, AsteroidSize::Large));
        }
    }

    /// Updates the [`Wave`] that players see.
    fn show(&mut self, room: &mut Context<'_>) {
        let asteroids = room.world.each::<Asteroid>().count() as u16;
        let now = Wave { number: self.number, asteroids };
        match self.entity.and_then(|entity| room.world.get::<Wave>(entity)) {
            Some(shown) if *shown == now => {}
            Some(_) => drop(self.entity.and_then(|entity| room.world.insert(entity, now).ok())),
            None => self.entity = room.world.spawn(now).ok(),
        }
    }
}

/// Returns a random position that is far from all others, or the farthest of some.
pub fn clear_position(random: &mut Random, others: &[[f32; 2]]) -> [f32; 2] {
    let mut best = ([0.0; 2], -1.0);
    for _ in 0..ATTEMPTS {
        let position = [random.between(0.0, WIDTH), random.between(0.0, HEIGHT)];
        let distances = others.iter().map(|other| {
            let [x, y] = offset(position, *other);
            x * x + y * y
        });
        let nearest = distances.fold(f32::INFINITY, f32::min);
        if nearest >= CLEARANCE * CLEARANCE {
            return position;
        }
        if nearest > best.1 {
            best = (position, nearest);
        }
    }
    best.0
}
