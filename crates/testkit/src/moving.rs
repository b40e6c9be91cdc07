//! Moving bodies for tests and benchmarks of replication. Shared, so that their numbers are about the same bits.

use aether_bits::Replicate;

/// Length of a tick, in seconds.
pub const SECONDS_PER_TICK: f32 = 0.05;

/// A body with a position.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "movement", position = position)]
pub struct Body {
    /// Position.
    #[replicate(range = -1000.0..=1000.0, step = 0.01, moves_by = velocity)]
    pub position: [f32; 2],
    /// Velocity, in units per second.
    #[replicate(range = -50.0..=50.0, step = 0.01)]
    pub velocity: [f32; 2],
    /// Direction, in radians.
    #[replicate(angle = 8)]
    pub heading: f32,
}

/// A label of some bodies.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Tag {
    /// Text.
    #[replicate(text = 8)]
    pub name: String,
    /// Score.
    pub score: u16,
}

/// SplitMix64 generator. Independent of the engine's random numbers, so that seeds give the same world forever.
pub struct Random(pub u64);

impl Random {
    /// Returns 64 random bits.
    #[expect(clippy::should_implement_trait, reason = "it is not an iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns an integer from zero up to, but not including, `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns true with a probability of `percent` percent.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns a number from `min` up to `max`.
    #[inline]
    pub fn within(&mut self, min: f32, max: f32) -> f32 {
        min + (max - min) * (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }
}
