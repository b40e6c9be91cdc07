//! Random numbers: the same seed gives the same sequence on every platform.

/// A small, fast generator (SplitMix64). It is not for secrets.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator that starts from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// Returns the next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// Returns a whole number in `0..end`, or zero if `end` is zero.
    pub fn below(&mut self, end: u32) -> u32 {
        // The bias of the product's upper half is below end / 2^32.
        (((self.bits() >> 32) * u64::from(end)) >> 32) as u32
    }

    /// Returns a number from `min` up to `max`.
    pub fn between(&mut self, min: f32, max: f32) -> f32 {
        min + (max - min) * self.unit()
    }

    /// Returns a number from 0 up to, but not including, 1.
    pub fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u32 << 24) as f32
    }

    /// Returns true with a probability of `percent`.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// State of the generator, which determines all further numbers. It is part of a room's state hash.
    #[must_use]
    pub fn state(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_pinned() {
        let mut random = Random::new(1);
        assert_eq!([random.bits(), random.bits()], [0x910a_2dec_8902_5cc1, 0xbeeb_8da1_658e_ec67]);
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut random = Random::new(7);
        for _ in 0..10_000 {
            assert!(random.below(6) < 6);
            assert!((-2.0..=3.0).contains(&random.between(-2.0, 3.0)));
        }
        assert_eq!(random.below(0), 0);
    }
}
