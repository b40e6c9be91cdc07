//! Queue of bytes in one piece of memory.

/// Waste at the front from which on the bytes are moved, if they are no more than the waste.
const WASTE_BYTES_MIN: usize = 4_096;

/// Capacity that is kept when memory is released.
const KEPT_BYTES: usize = 1_024;

/// Queue of bytes. Positions count from the first byte that was ever pushed.
#[derive(Default)]
pub(crate) struct ByteQueue {
    bytes: Vec<u8>,
    /// Position of `bytes[0]`.
    start: u64,
    /// Bytes at the front that were removed.
    waste: usize,
}

impl ByteQueue {
    /// Appends bytes and returns their position.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> u64 {
        let position = self.start + self.bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        position
    }

    /// Bytes that were pushed and not removed.
    pub(crate) fn get(&self, position: u64, length: usize) -> &[u8] {
        &self.bytes[(position - self.start) as usize..][..length]
    }

    /// Removes the bytes before a position.
    pub(crate) fn remove_before(&mut self, position: u64) {
        self.waste = (position - self.start) as usize;
        if self.waste == self.bytes.len() || self.waste >= WASTE_BYTES_MIN.max(self.bytes.len() / 2) {
            self.bytes.drain(..self.waste);
            self.start = position;
            self.waste = 0;
        }
    }

    /// Frees memory that is not in use.
    pub(crate) fn release(&mut self) {
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
    }
}
