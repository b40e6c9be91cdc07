//! Long deterministic game, to compare platforms.

use crate::{
    Builder, CELLS, Cell, Controls, DAMAGE, Kind, MATERIAL_MAX, Player, STEP_SECONDS, Shot, StructureGrid, can_place,
    fly, passes, spawn_point, walk,
};
use aether::prelude::*;

const PLAYERS: u32 = 6;

/// Lets a few players walk, build and shoot at random. Returns a hash over all their states.
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
    seed: u64,
    players: Vec<Player>,
    shots: Vec<Shot>,
    grid: StructureGrid,
    health: Vec<i32>,
    hasher: StateHasher,
    scratch: BitWriter,
}

impl Trial {
    fn new(seed: u64) -> Self {
        let players: Vec<Player> = (0..PLAYERS).map(|number| Player::at(spawn_point(number))).collect();
        let health = vec![100; players.len()];
        let (shots, grid) = (Vec::new(), StructureGrid::default());
        Trial { seed, players, shots, grid, health, hasher: StateHasher::new(seed), scratch: BitWriter::new() }
    }

    fn tick(&mut self, tick: u32) {
        for number in 0..PLAYERS {
            self.act(tick, number);
        }
        self.fly();
        for player in &self.players {
            self.hasher.word(player.digest(&mut self.scratch));
        }
        for shot in &self.shots {
            self.hasher.word(shot.digest(&mut self.scratch));
        }
        self.health.iter().for_each(|health| self.hasher.word(*health as u64));
    }

    fn act(&mut self, tick: u32, number: u32) {
        // A player keeps its direction for a while, and aims anew in every step.
        let [course, whim] = [tick / 20, tick].map(|part| self.chance(part, number));
        let share = |bits: u64, shift: u32| (bits >> shift & 0xff) as f32 / 127.5 - 1.0;
        let controls = Controls {
            push: [share(course, 0), share(course, 8)],
            aim: share(whim, 0) * 4.0,
            fire: whim >> 9 & 3 == 0,
        };
        let player = &mut self.players[number as usize];
        if walk(player, &controls, &self.grid, STEP_SECONDS).fired {
            self.shots.push(player.fire(number + 1));
        }
        let position = player.position;
        if whim >> 16 & 15 == 0
            && let Some(near) = Cell::at(position)
        {
            let offset = |index: u8, shift: u32| (index + (whim >> shift & 7) as u8).saturating_sub(3).min(CELLS - 1);
            let cell = Cell { column: offset(near.column, 20), row: offset(near.row, 24) };
            self.build(position, cell, Kind::ALL[(whim >> 28 & 3) as usize]);
        }
    }

    fn build(&mut self, position: [f32; 2], cell: Cell, kind: Kind) {
        let people: Vec<[f32; 2]> = self.players.iter().map(|player| player.position).collect();
        let builder =
            Builder { surroundings: &self.grid, position, material: MATERIAL_MAX, structures: 0, people: &people };
        let outcome = can_place(&builder, cell, kind);
        if outcome.is_ok() {
            self.grid.set(cell, Some(kind));
        }
        self.hasher.word(u64::from(outcome.is_ok()) << 16 | u64::from(cell.column) << 8 | u64::from(cell.row));
    }

    fn fly(&mut self) {
        let Trial { shots, players, grid, health, .. } = self;
        shots.retain_mut(|shot| {
            let flight = fly(shot, grid, STEP_SECONDS);
            if let Some(cell) = flight.struck {
                // In a trial every structure falls at the first shot, so that there is always room to walk.
                grid.set(cell, None);
            }
            for (number, player) in players.iter_mut().enumerate() {
                if shot.shooter != number as u32 + 1 && passes(flight.from, flight.to, player.position) {
                    health[number] -= DAMAGE;
                    if health[number] <= 0 {
                        (health[number], *player) = (100, Player::at(spawn_point(number as u32)));
                    }
                    return false;
                }
            }
            !flight.is_over
        });
    }

    fn chance(&self, tick: u32, number: u32) -> u64 {
        let mut hasher = StateHasher::new(self.seed);
        hasher.word(u64::from(tick) << 8 | u64::from(number));
        hasher.finish()
    }
}
