//! Layout of a region.
//!
//! ```text
//! word    0  magic         1  version       2  words of a ring   3  generation
//! word    8  tail of the creator's ring     16  head of it
//! word   24  tail of the attacher's ring    32  head of it
//! word   40  creator sleeps                 48  creator is blocked
//! word   56  attacher sleeps                64  attacher is blocked
//! word  512  words of the creator's ring
//! word  512 + words of a ring               words of the attacher's ring
//! ```
//!
//! A word is 8 bytes in the byte order of the machine. Words that different processes write are at least 64 bytes
//! apart, so that they do not share a cache line. Tail and head count words since the start and never wrap in practice
//! (2^64 words); the place of a word in its ring is the count modulo the ring's size, a power of two.

/// First word of a region: `aetherng`.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"aetherng");
/// Version of the layout and of the handshake.
pub(crate) const VERSION: u64 = 1;

pub(crate) const MAGIC_WORD: usize = 0;
pub(crate) const VERSION_WORD: usize = 1;
pub(crate) const RING_WORDS_WORD: usize = 2;
pub(crate) const GENERATION_WORD: usize = 3;
/// First word of the rings: the second page.
pub(crate) const DATA_WORD: usize = 512;

/// Bytes of a word.
pub(crate) const WORD_BYTES: usize = size_of::<u64>();

/// Smallest ring, in bytes: a few of the longest game messages.
pub const RING_BYTES_MIN: usize = 65_536;
/// Largest ring, in bytes. A larger one holds only older messages.
pub const RING_BYTES_MAX: usize = 67_108_864;

/// A message may fill at most this part of a ring, so that the next message never waits for an empty ring.
const MESSAGES_PER_RING: usize = 4;

/// One of the two processes of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The process that created the region.
    Creator,
    /// The process that got the region over a socket.
    Attacher,
}

impl Side {
    /// Returns the other side.
    #[must_use]
    pub fn other(self) -> Side {
        match self {
            Side::Creator => Side::Attacher,
            Side::Attacher => Side::Creator,
        }
    }

    /// Places of the ring that this side writes.
    pub(crate) fn ring(self, ring_words: usize) -> RingPlaces {
        let (tail, head, first) = match self {
            Side::Creator => (8, 16, DATA_WORD),
            Side::Attacher => (24, 32, DATA_WORD + ring_words),
        };
        RingPlaces { tail, head, first, words: ring_words }
    }

    /// Word by which this side says that it sleeps until there is a message.
    pub(crate) fn sleeps_word(self) -> usize {
        match self {
            Side::Creator => 40,
            Side::Attacher => 56,
        }
    }

    /// Word by which this side says that it waits for space.
    pub(crate) fn blocked_word(self) -> usize {
        match self {
            Side::Creator => 48,
            Side::Attacher => 64,
        }
    }
}

/// Places of one ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingPlaces {
    /// Word with the number of words written.
    pub tail: usize,
    /// Word with the number of words read.
    pub head: usize,
    /// First word of the ring.
    first: usize,
    /// Words of the ring, a power of two.
    pub words: usize,
}

impl RingPlaces {
    /// Place of the word with this count.
    pub fn place(&self, count: u64) -> usize {
        // The mask keeps the low bits only, so truncation on 32-bit machines changes nothing.
        self.first + (count as usize & (self.words - 1))
    }

    /// Longest message, in bytes.
    pub fn message_bytes_max(&self) -> usize {
        (self.words / MESSAGES_PER_RING - 1) * WORD_BYTES
    }
}

/// Words of a whole region.
pub(crate) fn region_words(ring_words: usize) -> usize {
    DATA_WORD + 2 * ring_words
}

/// Words of a ring of about this many bytes; none if the size is outside of the limits.
pub(crate) fn ring_words(ring_bytes: usize) -> Option<usize> {
    (RING_BYTES_MIN..=RING_BYTES_MAX).contains(&ring_bytes).then(|| (ring_bytes / WORD_BYTES).next_power_of_two())
}

/// Returns true for a size that [`ring_words`] yields.
pub(crate) fn is_ring_words(words: u64) -> bool {
    let range = (RING_BYTES_MIN / WORD_BYTES) as u64..=(RING_BYTES_MAX / WORD_BYTES) as u64;
    words.is_power_of_two() && range.contains(&words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_do_not_overlap_and_end_with_the_region() {
        let words = ring_words(RING_BYTES_MIN).unwrap();
        let (creator, attacher) = (Side::Creator.ring(words), Side::Attacher.ring(words));
        assert_eq!(creator.place(0), DATA_WORD);
        assert_eq!(creator.place(words as u64 - 1) + 1, attacher.place(0));
        assert_eq!(creator.place(words as u64), creator.place(0));
        assert_eq!(attacher.place(u64::MAX) + 1, region_words(words));
    }

    #[test]
    fn sizes_are_powers_of_two_within_limits() {
        assert_eq!(ring_words(RING_BYTES_MIN - 1), None);
        assert_eq!(ring_words(RING_BYTES_MAX + 1), None);
        assert_eq!(ring_words(100_000), Some(16_384));
        assert!(is_ring_words(8_192) && is_ring_words(8_388_608));
        assert!(!is_ring_words(8_193) && !is_ring_words(4_096) && !is_ring_words(16_777_216) && !is_ring_words(0));
    }

    #[test]
    fn words_of_different_writers_have_their_own_cache_lines() {
        let sides = [Side::Creator, Side::Attacher];
        let mut words: Vec<usize> = sides
            .iter()
            .flat_map(|side| {
                let ring = side.ring(8_192);
                [ring.tail, ring.head, side.sleeps_word(), side.blocked_word()]
            })
            .collect();
        words.sort_unstable();
        assert!(words.windows(2).all(|pair| pair[1] - pair[0] >= 8), "{words:?}");
        assert!(words.iter().all(|word| *word > GENERATION_WORD && *word < DATA_WORD));
    }
}
