//! Bit reader. Its input comes from peers, so it never panics: reading past the end is an error.

use std::fmt;

/// Error while reading packed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The input ends before the value does.
    Overrun,
    /// A value is outside the range of its field.
    OutOfRange,
    /// A length is above the field's limit.
    TooLong,
    /// A text is not UTF-8.
    BadText,
    /// A descriptor nests deeper than allowed.
    TooDeep,
    /// A baseline is not known on this side.
    NoBaseline,
}

impl ReadError {
    /// Short name, used as a metric label.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            ReadError::Overrun => "overrun",
            ReadError::OutOfRange => "out_of_range",
            ReadError::TooLong => "too_long",
            ReadError::BadText => "bad_text",
            ReadError::TooDeep => "too_deep",
            ReadError::NoBaseline => "no_baseline",
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReadError::Overrun => "the input ends before the value does",
            ReadError::OutOfRange => "a value is outside the range of its field",
            ReadError::TooLong => "a length is above the field's limit",
            ReadError::BadText => "a text is not valid UTF-8",
            ReadError::TooDeep => "the descriptor nests too deeply",
            ReadError::NoBaseline => "a baseline is not known on this side",
        })
    }
}

impl std::error::Error for ReadError {}

/// Reads values of 0 to 64 bits each, in the order a [`crate::BitWriter`] wrote them.
#[derive(Clone, Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> BitReader<'a> {
    /// A reader at the first bit of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        BitReader { bytes, position: 0 }
    }

    /// Number of bits read.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Number of bits left, padding included.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.bytes.len() * 8 - self.position
    }

    /// Reads the next `bits` bits.
    #[inline]
    pub fn read(&mut self, bits: u32) -> Result<u64, ReadError> {
        debug_assert!(bits <= 64);
        if bits == 0 {
            return Ok(0);
        }
        if bits as usize > self.remaining() {
            return Err(ReadError::Overrun);
        }
        let shift = (self.position % 8) as u32;
        let low = self.word_at(self.position / 8) >> shift;
        let have = 64 - shift;
        let value = if bits > have { low | u64::from(self.bytes[self.position / 8 + 8]) << have } else { low };
        self.position += bits as usize;
        Ok(if bits == 64 { value } else { value & ((1 << bits) - 1) })
    }

    /// Reads the next bit.
    #[inline]
    pub fn read_bool(&mut self) -> Result<bool, ReadError> {
        Ok(self.read(1)? == 1)
    }

    /// Reads one bits up to and including the next zero, and returns their number. More than `max` are an error.
    #[inline]
    pub fn read_ones(&mut self, max: u32) -> Result<u32, ReadError> {
        debug_assert!(max < 64);
        let mut ones = 0;
        loop {
            let shift = (self.position % 8) as u32;
            let here = (64 - shift).min(self.remaining().min(64) as u32);
            if here == 0 {
                return Err(ReadError::Overrun);
            }
            let run = (self.word_at(self.position / 8) >> shift).trailing_ones().min(here);
            ones += run;
            if ones > max {
                return Err(ReadError::OutOfRange);
            }
            if run < here {
                self.position += run as usize + 1;
                return Ok(ones);
            }
            self.position += run as usize;
        }
    }

    /// The eight bytes at `index`, with zeros past the end.
    #[inline]
    fn word_at(&self, index: usize) -> u64 {
        match self.bytes[index..].first_chunk() {
            Some(whole) => u64::from_le_bytes(*whole),
            // For a few bytes, a loop takes fewer instructions than a call that copies them.
            None => self.bytes[index..].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BitWriter;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn written_values_are_read_back(values in proptest::collection::vec((any::<u64>(), 0u32..=64), 0..200)) {
            let fit = |value: u64, bits: u32| if bits == 64 { value } else { value & ((1 << bits) - 1) };
            let mut writer = BitWriter::new();
            for &(value, bits) in &values {
                writer.write(fit(value, bits), bits);
            }
            let bytes = writer.to_bytes();
            prop_assert_eq!(bytes.len(), writer.bytes());
            let mut reader = BitReader::new(&bytes);
            for &(value, bits) in &values {
                prop_assert_eq!(reader.read(bits), Ok(fit(value, bits)));
            }
            prop_assert!(reader.remaining() < 8);
            prop_assert_eq!(reader.read(8), Err(ReadError::Overrun));
        }

        #[test]
        fn ranges_append_at_any_bit(lead in 0u32..64, values in proptest::collection::vec((any::<u32>(), 1u32..=32), 1..20)) {
            let mut range = BitWriter::new();
            for &(value, bits) in &values {
                range.write(u64::from(value) & ((1 << bits) - 1), bits);
            }
            let bits = range.bits() as u32;
            let mut whole = BitWriter::new();
            whole.write(0, lead);
            whole.append(range.finish_words(), bits);
            prop_assert_eq!(whole.bits(), (lead + bits) as usize);
            let bytes = whole.to_bytes();
            let mut reader = BitReader::new(&bytes);
            prop_assert_eq!(reader.read(lead), Ok(0));
            for &(value, bits) in &values {
                prop_assert_eq!(reader.read(bits), Ok(u64::from(value) & ((1 << bits) - 1)));
            }
        }

        #[test]
        fn a_patch_changes_only_its_bits(lead in 0u32..70, value in 0u64..1024, tail in any::<u64>()) {
            let mut writer = BitWriter::new();
            for _ in 0..lead {
                writer.write_bool(true);
            }
            writer.write(0, 10);
            writer.write(tail, 64);
            writer.patch(lead as usize, value, 10);
            let bytes = writer.to_bytes();
            let mut reader = BitReader::new(&bytes);
            for _ in 0..lead {
                prop_assert_eq!(reader.read_bool(), Ok(true));
            }
            prop_assert_eq!(reader.read(10), Ok(value));
            prop_assert_eq!(reader.read(64), Ok(tail));
        }
    }
}
