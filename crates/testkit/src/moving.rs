//! Moving bodies for tests and benchmarks of replication: declared once, so that their figures are about the same bits.

use aether_bits::Replicate;

/// The length of a tick.
pub const SECONDS_PER_TICK: f32 = 0.05;

/// Something with a place.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "movement", position = position)]
pub struct Body {
    /// Its place.
    #[replicate(range = -1000.0..=1000.0, step = 0.01, moves_by = velocity)]
    pub position: [f32; 2],
    /// Units a second.
    #[replicate(range = -50.0..=50.0, step = 0.01)]
    pub velocity: [f32; 2],
    /// Its direction, in radians.
    #[replicate(angle = 8)]
    pub heading: f32,
}

/// A label that some bodies carry.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Tag {
    /// Its text.
    #[replicate(text = 8)]
    pub name: String,
    /// A number.
    pub score: u16,
}

/// A small generator of its own (SplitMix64), so that seeds stay good for ever and every run has the same world.
pub struct Random(pub u64);

impl Random {
    /// The next 64 random bits.
    #[expect(clippy::should_implement_trait, reason = "it never ends, and is no iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A whole number from zero up to, but not including, `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A number from `min` up to `max`.
    #[inline]
    pub fn within(&mut self, min: f32, max: f32) -> f32 {
        min + (max - min) * (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }
}
