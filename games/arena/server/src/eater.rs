//! Who eats.

use aether_arena_rules::{Label, Steer};
use aether_wire::{EntityId, PlayerId, Tick};

/// Bots are numbered from here on; players never get that far.
pub const BOTS_FROM: u32 = 1 << 24;

/// A player or a bot.
#[derive(Clone, Debug)]
pub struct Eater {
    /// The player's account; nothing for a bot.
    pub account: String,
    pub name: String,
    pub hue: u8,
    /// Set once the player has chosen a colour since joining; it then counts more than the stored one.
    pub is_painted: bool,
    /// Where it wants to go, and whether it wants to split.
    pub steer: Steer,
    /// Whether the split that it wants is still to be done.
    pub splits: bool,
    /// Its blobs.
    pub blobs: Vec<EntityId>,
    /// From when on it may begin, if it has no blobs. A player begins by steering, and watches until then.
    pub begins_at: Option<Tick>,
    /// The most that it weighed since it came.
    pub best: u32,
    /// The most that it weighed before, once that is known.
    pub best_before: Option<u32>,
    /// Where it was last.
    pub place: [f32; 2],
    pub mass: u32,
    /// Where a bot without anything better to do goes.
    pub wanders_to: [f32; 2],
}

impl Eater {
    /// Someone who may begin at once.
    pub fn new(account: String, name: String, hue: u8, now: Tick) -> Eater {
        Eater {
            account,
            name,
            hue,
            is_painted: false,
            steer: Steer::default(),
            splits: false,
            blobs: Vec::new(),
            begins_at: Some(now),
            best: 0,
            best_before: None,
            place: [0.0; 2],
            mass: 0,
            wanders_to: [0.0; 2],
        }
    }

    /// Takes an input. A split counts when it begins, not for as long as the key is held.
    pub fn steer(&mut self, steer: Steer) {
        self.splits |= steer.split && !self.steer.split;
        self.steer = steer;
    }

    /// Whether it may begin, and wants to: a bot always does, a player by steering somewhere.
    pub fn is_due(&self, number: u32, now: Tick) -> bool {
        let steers = self.steer.aim != [0.0; 2] || self.steer.split;
        self.begins_at.is_some_and(|at| at <= now) && (steers || player_of(number).is_none())
    }

    /// What its blobs show.
    pub fn label(&self, number: u32) -> Label {
        Label { eater: number, name: self.name.clone(), hue: self.hue }
    }

    /// The most that it ever weighed, as far as that is known.
    pub fn best_ever(&self) -> u32 {
        self.best.max(self.best_before.unwrap_or(0))
    }
}

/// The player of a number; nothing if it is a bot's.
pub fn player_of(number: u32) -> Option<PlayerId> {
    (number < BOTS_FROM).then_some(PlayerId(number))
}
