//! Bit writer: values are packed into 64-bit words, lowest bit first.

/// Collects values of 0 to 64 bits each. [`BitWriter::clear`] allows reuse without allocation.
#[derive(Clone, Debug, Default)]
pub struct BitWriter {
    words: Vec<u64>,
    pending: u64,
    pending_bits: u32,
}

impl BitWriter {
    /// An empty writer that allocates on first use.
    #[must_use]
    pub const fn new() -> Self {
        BitWriter { words: Vec::new(), pending: 0, pending_bits: 0 }
    }

    /// Removes all bits and retains the memory.
    pub fn clear(&mut self) {
        self.words.clear();
        self.pending = 0;
        self.pending_bits = 0;
    }

    /// Replaces the bits with those of another writer, and retains the memory.
    pub fn copy_from(&mut self, other: &BitWriter) {
        self.words.clone_from(&other.words);
        (self.pending, self.pending_bits) = (other.pending, other.pending_bits);
    }

    /// Number of bits written.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.words.len() * 64 + self.pending_bits as usize
    }

    /// Number of bytes that [`BitWriter::copy_to`] appends.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bits().div_ceil(8)
    }

    /// True if nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits() == 0
    }

    /// Appends the lowest `bits` bits of `value`; the bits above them must be zero.
    #[inline]
    pub fn write(&mut self, value: u64, bits: u32) {
        debug_assert!(bits <= 64);
        debug_assert!(bits == 64 || value >> bits == 0, "{value} does not fit {bits} bits");
        self.pending |= value << self.pending_bits;
        let total = self.pending_bits + bits;
        if total >= 64 {
            self.words.push(self.pending);
            self.pending = if self.pending_bits == 0 { 0 } else { value >> (64 - self.pending_bits) };
            self.pending_bits = total - 64;
        } else {
            self.pending_bits = total;
        }
    }

    /// Appends one bit.
    #[inline]
    pub fn write_bool(&mut self, value: bool) {
        self.write(u64::from(value), 1);
    }

    /// Appends the first `bits` bits of `words`, which [`BitWriter::finish_words`] returned.
    #[inline]
    pub fn append(&mut self, words: &[u64], bits: u32) {
        let (whole, rest) = (bits as usize / 64, bits % 64);
        let shift = self.pending_bits;
        if shift == 0 {
            self.words.extend_from_slice(&words[..whole]);
        } else {
            let mut carry = self.pending;
            self.words.extend(words[..whole].iter().map(|word| {
                let full = carry | word << shift;
                carry = word >> (64 - shift);
                full
            }));
            self.pending = carry;
        }
        if rest > 0 {
            self.write(words[whole], rest);
        }
    }

    /// Overwrites `bits` bits at bit `position`, for counts that are known late.
    ///
    /// # Panics
    /// If these bits were not written before.
    pub fn patch(&mut self, position: usize, value: u64, bits: u32) {
        assert!(position + bits as usize <= self.bits(), "the patch at bit {position} is beyond the written bits");
        let (word, shift) = (position / 64, (position % 64) as u32);
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        self.replace(word, mask << shift, value << shift);
        if shift + bits > 64 {
            self.replace(word + 1, mask >> (64 - shift), value >> (64 - shift));
        }
    }

    /// Replaces the bits of a word that are set in `mask`.
    fn replace(&mut self, word: usize, mask: u64, value: u64) {
        let word = match self.words.get_mut(word) {
            Some(word) => word,
            None => &mut self.pending,
        };
        *word = *word & !mask | value & mask;
    }

    /// Pads with zero bits to the next 64-bit word, so that the next range begins at a word.
    pub fn align(&mut self) {
        if self.pending_bits > 0 {
            self.words.push(self.pending);
            self.pending = 0;
            self.pending_bits = 0;
        }
    }

    /// Removes everything after the first `words` words.
    pub fn truncate_words(&mut self, words: usize) {
        self.words.truncate(words);
        self.pending = 0;
        self.pending_bits = 0;
    }

    /// The complete words so far. Bits after the last [`BitWriter::align`] may be pending.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Aligns, and returns all words.
    pub fn finish_words(&mut self) -> &[u64] {
        self.align();
        &self.words
    }

    /// Appends the bits to `out` as bytes, lowest first. The last byte is padded with zero bits.
    pub fn copy_to(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.bytes(), 0);
        let (whole, rest) = out[start..].split_at_mut(self.words.len() * 8);
        for (bytes, word) in whole.as_chunks_mut().0.iter_mut().zip(&self.words) {
            *bytes = word.to_le_bytes();
        }
        rest.copy_from_slice(&self.pending.to_le_bytes()[..rest.len()]);
    }

    /// Returns the bits as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.copy_to(&mut out);
        out
    }
}
