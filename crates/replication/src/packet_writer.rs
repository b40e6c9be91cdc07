//! [`PacketWriter`]: the bits of one packet.

use aether_wire::limits::STATE_PACKET_BYTES_MAX;

/// Words of the buffer: a packet, a word for what spills over, rounded up so that an index needs no check.
const WORDS: usize = 128;

const _: () = assert!(STATE_PACKET_BYTES_MAX.div_ceil(8) + 2 <= WORDS, "a packet fits the buffer");

/// Memory of a [`PacketWriter`], allocated on first use.
pub(crate) type PacketWords = Vec<u64>;

/// Writes the bits of one packet, lowest bit first, into memory of a fixed size. The caller keeps to the size of a
/// packet.
#[derive(Debug)]
pub(crate) struct PacketWriter<'a> {
    /// The word at the position has no bits above it.
    words: &'a mut [u64; WORDS],
    /// Number of bits written.
    position: usize,
}

impl<'a> PacketWriter<'a> {
    pub fn new(words: &'a mut PacketWords) -> Self {
        words.resize(WORDS, 0);
        let (words, _) = words.as_chunks_mut();
        let mut writer = PacketWriter { words: &mut words[0], position: 0 };
        writer.clear();
        writer
    }

    /// Removes all bits.
    pub fn clear(&mut self) {
        self.words[0] = 0;
        self.position = 0;
    }

    /// Returns a writer of the same packet. A loop that has it as a local variable has its position in a register.
    #[inline]
    pub fn reborrow(&mut self) -> PacketWriter<'_> {
        PacketWriter { words: self.words, position: self.position }
    }

    /// Continues after the `bits` bits that a writer of [`PacketWriter::reborrow`] has written.
    #[inline]
    pub fn resume(&mut self, bits: usize) {
        self.position = bits;
    }

    /// Number of bits written.
    #[inline]
    pub fn bits(&self) -> usize {
        self.position
    }

    /// Appends the lowest `bits` bits of `value`; the bits above them must be zero.
    #[inline(always)]
    pub fn write(&mut self, value: u64, bits: u32) {
        debug_assert!(bits == 64 || value >> bits == 0, "{value} does not fit {bits} bits");
        debug_assert!(self.position + bits as usize <= STATE_PACKET_BYTES_MAX * 8, "the packet is full");
        let (word, shift) = (self.position / 64, self.position % 64);
        self.words[word % WORDS] |= value << shift;
        self.words[(word + 1) % WORDS] = value >> 1 >> (63 - shift);
        self.position += bits as usize;
    }

    /// Appends the first `bits` bits of `words`. The bits above them must be zero.
    #[inline]
    pub fn append(&mut self, words: &[u64], bits: u32) {
        let (first, shift) = (self.position / 64, self.position % 64);
        let words = &words[..bits.div_ceil(64) as usize];
        let target = &mut self.words[first..][..words.len() + 1];
        let mut carry = target[0];
        for (target, word) in target.iter_mut().zip(words) {
            *target = carry | word << shift;
            carry = word >> 1 >> (63 - shift);
        }
        target[words.len()] = carry;
        self.position += bits as usize;
    }

    /// Overwrites the first bits of the second word, which were written before.
    pub fn patch_second_word(&mut self, value: u64, bits: u32) {
        self.words[1] = self.words[1] >> bits << bits | value;
    }

    /// Writes the bits to `out` as bytes, lowest first. What `out` had before is replaced.
    pub fn copy_to(&self, out: &mut Vec<u8>) {
        // Not cleared before: bytes of the former packet need not be zeroed.
        out.resize(self.position.div_ceil(64) * 8, 0);
        for (bytes, word) in out.as_chunks_mut().0.iter_mut().zip(self.words.iter()) {
            *bytes = word.to_le_bytes();
        }
        out.truncate(self.position.div_ceil(8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aether_bits::BitWriter;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_bits_are_those_of_a_bit_writer(
            values in proptest::collection::vec((any::<u64>(), 0u32..=64), 1..60),
            run in proptest::collection::vec(any::<u64>(), 1..20),
            run_bits in 1u32..64,
        ) {
            let (mut words, mut known) = (PacketWords::new(), BitWriter::new());
            let mut writer = PacketWriter::new(&mut words);
            let mut run = run;
            let last = run.len() - 1;
            run[last] &= (1 << run_bits) - 1;
            let run_bits = last as u32 * 64 + run_bits;
            for _ in 0..2 {
                writer.clear();
                known.clear();
                for (index, &(value, bits)) in values.iter().enumerate() {
                    let value = if bits == 64 { value } else { value & ((1 << bits) - 1) };
                    writer.write(value, bits);
                    known.write(value, bits);
                    if index == values.len() / 2 {
                        writer.append(&run, run_bits);
                        known.append(&run, run_bits);
                    }
                }
                let mut bytes = vec![0xff; 2_000];
                writer.copy_to(&mut bytes);
                prop_assert_eq!(writer.bits(), known.bits());
                prop_assert_eq!(bytes, known.to_bytes());
            }
        }
    }
}
