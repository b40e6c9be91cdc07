//! State of a player that is not replicated.

use aether::prelude::*;

/// State of a player in the room.
#[derive(Clone, Debug)]
pub struct PlayerState {
    /// Account, to which scores are submitted.
    pub account: String,
    /// Entity of its [`aether_asteroids_rules::Standing`].
    pub standing: EntityId,
    /// Entity of its ship, while it flies.
    pub ship: Option<EntityId>,
    /// Tick of the next ship, or the earliest tick of the next game.
    pub starts_at: Tick,
    /// Tick at which the protection of its ship ends.
    pub protected_until: Tick,
    /// Tick of its last input.
    pub input_at: Tick,
    /// True if the last input fired.
    pub is_firing: bool,
    /// True if it pressed the trigger since the last tick.
    pub has_pressed: bool,
    /// Highest score that was submitted.
    pub submitted: u32,
}

impl PlayerState {
    /// Creates the state of a player who starts at once.
    pub fn new(account: String, standing: EntityId, now: Tick) -> PlayerState {
        PlayerState {
            account,
            standing,
            ship: None,
            starts_at: now,
            protected_until: now,
            input_at: now,
            is_firing: false,
            has_pressed: false,
            submitted: 0,
        }
    }

    /// Adds the state to a hash.
    pub fn hash(&self, hasher: &mut StateHasher) {
        hasher.word(u64::from(self.starts_at.0) << 32 | u64::from(self.protected_until.0));
        hasher.word(u64::from(self.input_at.0) << 32 | u64::from(self.submitted));
        hasher.word(u64::from(self.is_firing) << 1 | u64::from(self.has_pressed));
    }
}
