//! State of one eater.

use aether::prelude::*;
use aether_arena_rules::{Label, Steer};

/// First number of a bot; players never reach it.
pub const BOTS_FROM: u32 = 1 << 24;

/// A player or a bot.
#[derive(Clone, Debug)]
pub struct Eater {
    /// Account of the player; empty for a bot.
    pub account: String,
    pub name: String,
    pub hue: u8,
    /// True once the player has chosen a colour since joining; it overrides the stored one.
    pub is_painted: bool,
    /// Latest input.
    pub steer: Steer,
    /// True while a requested split has not been done yet.
    pub splits: bool,
    /// Entities of its blobs.
    pub blobs: Vec<EntityId>,
    /// First tick at which it may spawn, if it has no blobs. A player watches until its first input.
    pub spawns_at: Option<Tick>,
    /// Highest mass since joining.
    pub best: u32,
    /// Highest mass before joining, once it was read.
    pub best_before: Option<u32>,
    /// Last known position.
    pub position: [f32; 2],
    pub mass: u32,
    /// Target of a wandering bot.
    pub wanders_to: [f32; 2],
}

impl Eater {
    /// Creates an eater that may spawn at once.
    pub fn new(account: String, name: String, hue: u8, now: Tick) -> Eater {
        Eater {
            account,
            name,
            hue,
            is_painted: false,
            steer: Steer::default(),
            splits: false,
            blobs: Vec::new(),
            spawns_at: Some(now),
            best: 0,
            best_before: None,
            position: [0.0; 2],
            mass: 0,
            wanders_to: [0.0; 2],
        }
    }

    /// Applies an input. A split counts once for each press.
    pub fn steer(&mut self, steer: Steer) {
        self.splits |= steer.split && !self.steer.split;
        self.steer = steer;
    }

    /// Returns whether it spawns now: bots always do, players with an input that is not zero.
    pub fn is_due(&self, number: u32, now: Tick) -> bool {
        let steers = self.steer.aim != [0.0; 2] || self.steer.split;
        self.spawns_at.is_some_and(|at| at <= now) && (steers || player_of(number).is_none())
    }

    /// Returns the label of its blobs.
    pub fn label(&self, number: u32) -> Label {
        Label { eater: number, name: self.name.clone(), hue: self.hue }
    }

    /// Returns the highest known mass.
    pub fn best_ever(&self) -> u32 {
        self.best.max(self.best_before.unwrap_or(0))
    }
}

/// Returns the player of a number, or `None` for a bot.
pub fn player_of(number: u32) -> Option<PlayerId> {
    (number < BOTS_FROM).then_some(PlayerId(number))
}
