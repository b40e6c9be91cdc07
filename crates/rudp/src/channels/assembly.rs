//! Message being assembled from its fragments.

use crate::frame::Piece;
use crate::limits::{FRAGMENT_BYTES, FRAGMENTS_MAX, MESSAGE_BYTES_MAX};

use super::inbox::Violation;

/// Message being assembled from its fragments.
pub(super) struct Assembly {
    total: u8,
    /// Fragments that have not arrived, as bits.
    missing: u64,
    bytes: Vec<u8>,
}

impl Assembly {
    /// Begins with the first fragment to arrive.
    pub(super) fn new(piece: Piece<'_>) -> Result<Assembly, Violation> {
        let total = usize::from(piece.total);
        if total > FRAGMENTS_MAX {
            return Err(Violation);
        }
        let missing = u64::MAX >> (u64::BITS as usize - total);
        let mut assembly = Assembly { total: piece.total, missing, bytes: vec![0; total * FRAGMENT_BYTES] };
        assembly.insert(piece)?;
        Ok(assembly)
    }

    /// Inserts a fragment. One that was there before changes nothing.
    pub(super) fn insert(&mut self, piece: Piece<'_>) -> Result<(), Violation> {
        let is_last = piece.index + 1 == self.total;
        let start = usize::from(piece.index) * FRAGMENT_BYTES;
        let length = piece.bytes.len();
        let fits = if is_last {
            (1..=FRAGMENT_BYTES).contains(&length) && start + length <= MESSAGE_BYTES_MAX
        } else {
            length == FRAGMENT_BYTES
        };
        if piece.total != self.total || piece.index >= self.total || !fits {
            return Err(Violation);
        }
        if self.missing & 1 << piece.index == 0 {
            return Ok(());
        }
        self.missing &= !(1 << piece.index);
        self.bytes[start..start + length].copy_from_slice(piece.bytes);
        if is_last {
            self.bytes.truncate(start + length);
        }
        Ok(())
    }

    /// Returns the message once nothing is missing.
    pub(super) fn finish(&mut self) -> Option<Vec<u8>> {
        (self.missing == 0).then(|| std::mem::take(&mut self.bytes))
    }
}
