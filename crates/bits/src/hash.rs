//! State hash, equal on every platform.

use crate::BitWriter;

/// Mixes 64-bit words into one 64-bit hash. It compares states and is not for security.
#[derive(Clone, Copy, Debug)]
pub struct StateHasher(u64);

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl StateHasher {
    /// A hasher that starts from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        StateHasher(seed ^ MULTIPLIER)
    }

    /// Returns the hash of the bits in `writer`.
    pub fn of_bits(writer: &mut BitWriter) -> u64 {
        let mut hasher = StateHasher::new(writer.bits() as u64);
        for &word in writer.finish_words() {
            hasher.word(word);
        }
        hasher.finish()
    }

    /// Mixes in one word.
    pub fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(MULTIPLIER).rotate_left(29);
    }

    /// Mixes in bytes and their number.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
        self.word(bytes.len() as u64);
    }

    /// Returns the hash.
    #[must_use]
    pub fn finish(self) -> u64 {
        let mut hash = self.0;
        hash = (hash ^ hash >> 32).wrapping_mul(MULTIPLIER);
        hash = (hash ^ hash >> 29).wrapping_mul(MULTIPLIER);
        hash ^ hash >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(words: &[u64]) -> u64 {
        let mut hasher = StateHasher::new(7);
        for &word in words {
            hasher.word(word);
        }
        hasher.finish()
    }

    #[test]
    fn order_and_content_count() {
        assert_ne!(hash(&[1, 2]), hash(&[2, 1]));
        assert_ne!(hash(&[1]), hash(&[1, 0]));
        assert_eq!(hash(&[1, 2]), hash(&[1, 2]));
    }

    #[test]
    fn the_value_is_pinned_for_every_platform() {
        assert_eq!(hash(&[1, 2, 3]), 0x96b911a3d5cb4794);
    }
}
