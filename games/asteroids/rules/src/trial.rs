//! Long deterministic game, to compare platforms.

use crate::{
    Asteroid, AsteroidSize, Controls, HEIGHT, SHIP_RADIUS, STEP_SECONDS, Ship, Shot, WIDTH, asteroids_of, drift, fly,
    is_near, meets, split, steer,
};
use aether::prelude::*;

const PLAYERS: u32 = 4;

/// Lets a few players fly and shoot at random. Returns a hash over all their states.
///
/// The same seed gives the same hash on every platform.
#[must_use]
pub fn trial(seed: u64, ticks: u32) -> u64 {
    let mut trial = Trial::new(seed);
    for tick in 0..ticks {
        trial.tick(tick);
    }
    trial.hasher.finish()
}

struct Trial {
    random: Random,
    ships: Vec<Ship>,
    shots: Vec<Shot>,
    asteroids: Vec<Asteroid>,
    inputs: Vec<Controls>,
    wave: u16,
    hasher: StateHasher,
    scratch: BitWriter,
}

impl Trial {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let ships = (1..=PLAYERS).map(|player| Ship::at(anywhere(&mut random), player)).collect();
        let inputs = vec![Controls::default(); PLAYERS as usize];
        let (shots, asteroids) = (Vec::new(), Vec::new());
        let (hasher, scratch) = (StateHasher::new(seed), BitWriter::new());
        Trial { random, ships, shots, asteroids, inputs, wave: 0, hasher, scratch }
    }

    fn tick(&mut self, tick: u32) {
        if self.asteroids.is_empty() {
            self.wave += 1;
            for _ in 0..asteroids_of(self.wave, PLAYERS) {
                let velocity = [(); 2].map(|()| self.random.between(-120.0, 120.0));
                self.asteroids.push(Asteroid::at(anywhere(&mut self.random), velocity, AsteroidSize::Large));
            }
        }
        for (controls, ship) in self.inputs.iter_mut().zip(&mut self.ships) {
            // A player changes its mind a few times a second.
            if (tick + ship.player).is_multiple_of(17) {
                let bits = self.random.bits();
                *controls =
                    Controls { turn: (bits % 3) as i8 - 1, thrust: bits >> 8 & 1 == 0, fire: bits >> 9 & 3 != 0 };
            }
            if steer(ship, controls).fired {
                self.shots.push(ship.fire());
            }
        }
        self.asteroids.iter_mut().for_each(drift);
        self.shoot();
        self.crash();
        for ship in &self.ships {
            self.hasher.word(ship.digest(&mut self.scratch));
        }
        for asteroid in &self.asteroids {
            self.hasher.word(asteroid.digest(&mut self.scratch));
        }
        for shot in &self.shots {
            self.hasher.word(shot.digest(&mut self.scratch));
        }
    }

    fn shoot(&mut self) {
        let Trial { shots, asteroids, random, .. } = self;
        shots.retain_mut(|shot| {
            let flies = fly(shot);
            let path = shot.velocity.map(|part| part * STEP_SECONDS);
            let hit = |asteroid: &Asteroid| meets(shot.position, path, asteroid.position, asteroid.size.radius());
            let Some(index) = asteroids.iter().position(hit) else { return flies };
            let asteroid = asteroids.swap_remove(index);
            asteroids.extend(split(&asteroid, random).into_iter().flatten());
            false
        });
    }

    fn crash(&mut self) {
        for ship in &mut self.ships {
            let touches =
                |asteroid: &Asteroid| is_near(ship.position, asteroid.position, SHIP_RADIUS + asteroid.size.radius());
            if self.asteroids.iter().any(touches) {
                *ship = Ship::at(anywhere(&mut self.random), ship.player);
            }
        }
    }
}

fn anywhere(random: &mut Random) -> [f32; 2] {
    [random.between(0.0, WIDTH), random.between(0.0, HEIGHT)]
}
