//! Waves of asteroids.

use aether::prelude::*;

/// Maximum number of large asteroids in a wave.
pub const ASTEROIDS_LARGE_MAX: u32 = 16;

/// Current wave, which the whole room sees.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "waves")]
pub struct Wave {
    /// Number of the wave, from 1.
    #[replicate(default = 1)]
    pub number: u16,
    /// Remaining asteroids.
    pub asteroids: u16,
}

/// Returns the number of large asteroids of a wave. It grows with waves and with players.
#[must_use]
pub fn asteroids_of(wave: u16, players: u32) -> u32 {
    let more = u32::from(wave.max(1)) + 2 * players.saturating_sub(1).min(ASTEROIDS_LARGE_MAX);
    (5 + more).min(ASTEROIDS_LARGE_MAX)
}
