//! Long deterministic game, to compare platforms.

use crate::{Blob, DECAY_TICKS, Dish, EDGE, MASS_START, Piece, STEP_SECONDS};
use aether::prelude::*;

const EATERS: u32 = 12;
const PELLETS: u32 = 150;

/// Moves and splits a few eaters at random. Returns a hash over all their states.
///
/// The same seed gives the same hash on every platform.
#[must_use]
pub fn trial(seed: u64, ticks: u32) -> u64 {
    let mut trial = Trial { seed, dish: Dish::default(), pellets: Vec::new(), hasher: StateHasher::new(seed) };
    trial.pellets = (0..PELLETS).map(|number| trial.position(0, number)).collect();
    let mut scratch = BitWriter::new();
    for tick in 1..=ticks {
        trial.tick(tick);
        for piece in &trial.dish.pieces {
            trial.hasher.word(u64::from(piece.eater));
            trial.hasher.word(piece.blob.digest(&mut scratch));
        }
    }
    trial.hasher.finish()
}

struct Trial {
    seed: u64,
    dish: Dish,
    pellets: Vec<[f32; 2]>,
    hasher: StateHasher,
}

impl Trial {
    fn tick(&mut self, tick: u32) {
        for eater in 1..=EATERS {
            if !self.dish.pieces.iter().any(|piece| piece.eater == eater) {
                let mut blob = Blob::at(self.position(tick, eater), MASS_START);
                blob.snap();
                self.dish.pieces.push(Piece::new(eater, blob));
            }
            if self.chance(tick, eater) & 63 == 0 {
                self.dish.split(eater, self.aim(tick, eater), tick);
            }
        }
        let aims: Vec<[f32; 2]> = (0..=EATERS).map(|eater| self.aim(tick, eater)).collect();
        self.dish.drive(|eater| aims[eater as usize], STEP_SECONDS);
        self.dish.merge_or_separate(tick);
        let mut eaten = Vec::new();
        self.dish.feed(&self.pellets, &mut eaten);
        for index in eaten {
            self.pellets[index] = self.position(tick, 1_000 + index as u32);
        }
        self.dish.devour();
        if tick.is_multiple_of(DECAY_TICKS) {
            self.dish.decay();
        }
        self.dish.tidy();
    }

    /// An eater keeps its direction for a while.
    fn aim(&self, tick: u32, eater: u32) -> [f32; 2] {
        let bits = self.chance(tick / 30, 100 + eater);
        [0, 8].map(|shift| (bits >> shift & 0xff) as f32 / 127.5 - 1.0)
    }

    fn position(&self, tick: u32, number: u32) -> [f32; 2] {
        let bits = self.chance(tick, 10_000 + number);
        // All in a small part of the world, so that they meet.
        [0, 16].map(|shift| ((bits >> shift & 0xffff) as f32 / 32_767.5 - 1.0) * EDGE * 0.4)
    }

    fn chance(&self, tick: u32, number: u32) -> u64 {
        let mut hasher = StateHasher::new(self.seed);
        hasher.word(u64::from(tick) << 32 | u64::from(number));
        hasher.finish()
    }
}
