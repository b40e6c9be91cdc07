//! Both ends of one ring, without waiting: words in, words out.

use crate::error::{RingError, TrySendError};
use crate::layout::{RingPlaces, Side, WORD_BYTES};
use crate::memory::SharedWords;
use std::sync::atomic::Ordering;

/// Writing end of a ring.
pub(crate) struct Producer<M> {
    memory: M,
    side: Side,
    places: RingPlaces,
    /// Words written. The copy in memory is never read back: the other process may change it.
    tail: u64,
    /// Words that the other side had read when this was last looked up.
    head: u64,
}

/// Reading end of a ring.
pub(crate) struct Consumer<M> {
    memory: M,
    side: Side,
    places: RingPlaces,
    /// Words read. The copy in memory is never read back.
    head: u64,
    /// Words that the other side had written when this was last looked up.
    tail: u64,
}

impl<M: SharedWords> Producer<M> {
    /// Creates the writing end of a side.
    pub fn new(memory: M, side: Side, ring_words: usize) -> Producer<M> {
        Producer { memory, side, places: side.ring(ring_words), tail: 0, head: 0 }
    }

    /// Longest message, in bytes.
    pub fn message_bytes_max(&self) -> usize {
        self.places.message_bytes_max()
    }

    /// Writes a message, given in parts. Returns true if the other side sleeps and has to be woken.
    pub fn try_send(&mut self, parts: &[&[u8]]) -> Result<bool, TrySendError> {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        if bytes > self.message_bytes_max() {
            return Err(TrySendError::TooLong);
        }
        let words = 1 + bytes.div_ceil(WORD_BYTES);
        if !self.has_space(words)? {
            return Err(TrySendError::Full);
        }
        self.memory.store(self.places.place(self.tail), bytes as u64, Ordering::Relaxed);
        self.copy_in(parts);
        self.tail = self.tail.wrapping_add(words as u64);
        // The message becomes visible here, after its words.
        self.memory.store(self.places.tail, self.tail, Ordering::Release);
        Ok(take_wish(&self.memory, self.side.other().sleeps_word()))
    }

    /// Asks the other side to ring when it has read something. Returns true if a message of this many bytes still does
    /// not fit; after false, there is no reason to wait.
    pub fn wait_for_space(&mut self, bytes: usize) -> Result<bool, RingError> {
        self.memory.swap(self.side.blocked_word(), 1, Ordering::AcqRel);
        self.memory.fence();
        Ok(!self.has_space(1 + bytes.min(self.message_bytes_max()).div_ceil(WORD_BYTES))?)
    }

    fn has_space(&mut self, words: usize) -> Result<bool, RingError> {
        let capacity = self.places.words as u64;
        if capacity - self.tail.wrapping_sub(self.head) >= words as u64 {
            return Ok(true);
        }
        // Acquire: the other side has finished reading the words that are about to be overwritten.
        let head = self.memory.load(self.places.head, Ordering::Acquire);
        let used = self.tail.wrapping_sub(head);
        // It cannot have read more than was written, nor less than before.
        if used > self.tail.wrapping_sub(self.head) {
            return Err(RingError::Cursor);
        }
        self.head = head;
        Ok(capacity - used >= words as u64)
    }

    /// Writes the parts, one after the other, in whole words; the last word is padded with zeros.
    fn copy_in(&mut self, parts: &[&[u8]]) {
        let mut count = self.tail.wrapping_add(1);
        let mut word = [0; WORD_BYTES];
        let mut filled = 0;
        for mut part in parts.iter().copied() {
            if filled > 0 {
                let (start, rest) = part.split_at(part.len().min(WORD_BYTES - filled));
                word[filled..filled + start.len()].copy_from_slice(start);
                filled += start.len();
                part = rest;
                if filled == WORD_BYTES {
                    self.store_word(&mut count, word);
                    (word, filled) = ([0; WORD_BYTES], 0);
                }
            }
            let (whole, rest) = part.as_chunks::<WORD_BYTES>();
            whole.iter().for_each(|bytes| self.store_word(&mut count, *bytes));
            word[filled..filled + rest.len()].copy_from_slice(rest);
            filled += rest.len();
        }
        if filled > 0 {
            self.store_word(&mut count, word);
        }
    }

    fn store_word(&self, count: &mut u64, bytes: [u8; WORD_BYTES]) {
        self.memory.store(self.places.place(*count), u64::from_ne_bytes(bytes), Ordering::Relaxed);
        *count = count.wrapping_add(1);
    }
}

impl<M: SharedWords> Consumer<M> {
    /// Creates the reading end of a side.
    pub fn new(memory: M, side: Side, ring_words: usize) -> Consumer<M> {
        Consumer { memory, side, places: side.other().ring(ring_words), head: 0, tail: 0 }
    }

    /// Replaces the content of `message` with the next message. Returns none if there is no message, else true if the
    /// other side waits for space and has to be woken.
    pub fn receive(&mut self, message: &mut Vec<u8>) -> Result<Option<bool>, RingError> {
        let available = self.available()?;
        if available == 0 {
            return Ok(None);
        }
        // Copied once: the other process may change it between two reads.
        let length = self.memory.load(self.places.place(self.head), Ordering::Relaxed);
        let length = usize::try_from(length).map_err(|_| RingError::Length)?;
        if length > self.places.message_bytes_max() {
            return Err(RingError::Length);
        }
        let words = length.div_ceil(WORD_BYTES);
        if available < 1 + words as u64 {
            return Err(RingError::Length);
        }
        message.resize(words * WORD_BYTES, 0);
        let mut count = self.head.wrapping_add(1);
        for bytes in message.as_chunks_mut::<WORD_BYTES>().0 {
            *bytes = self.memory.load(self.places.place(count), Ordering::Relaxed).to_ne_bytes();
            count = count.wrapping_add(1);
        }
        message.truncate(length);
        self.head = count;
        // Release: the words are read before the other side may overwrite them.
        self.memory.store(self.places.head, self.head, Ordering::Release);
        Ok(Some(take_wish(&self.memory, self.side.other().blocked_word())))
    }

    /// Asks the other side to ring after the next message. Returns true if there is still no message; after false, there
    /// is no reason to sleep.
    pub fn prepare_sleep(&mut self) -> Result<bool, RingError> {
        self.memory.swap(self.side.sleeps_word(), 1, Ordering::AcqRel);
        self.memory.fence();
        Ok(self.available()? == 0)
    }

    /// Ends what [`Consumer::prepare_sleep`] began.
    pub fn end_sleep(&self) {
        self.memory.swap(self.side.sleeps_word(), 0, Ordering::AcqRel);
    }

    /// Words that can be read.
    pub fn available(&mut self) -> Result<u64, RingError> {
        if self.tail == self.head {
            // Acquire: the words of the message are visible with the cursor.
            let tail = self.memory.load(self.places.tail, Ordering::Acquire);
            if tail.wrapping_sub(self.head) > self.places.words as u64 {
                return Err(RingError::Cursor);
            }
            self.tail = tail;
        }
        Ok(self.tail.wrapping_sub(self.head))
    }
}

/// Takes back the wish of the other side to be woken. Returns true if it had one.
///
/// The fence is the other half of that in [`Producer::wait_for_space`] and [`Consumer::prepare_sleep`]: of two sides
/// that each write one word and read the other's, at least one sees the write of the other. Without it, one could go to
/// sleep while the other believes it awake. All writes of these words are exchanges, so that each takes the place right
/// after the value that it returned.
fn take_wish(memory: &impl SharedWords, word: usize) -> bool {
    memory.fence();
    memory.load(word, Ordering::Relaxed) != 0 && memory.swap(word, 0, Ordering::AcqRel) != 0
}
