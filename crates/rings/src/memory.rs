//! Interface of shared memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Memory that is read and written in atomic words of 8 bytes.
///
/// Rings are generic over it, so that the model checker runs the same code on memory of its own.
pub(crate) trait SharedWords {
    /// Reads a word.
    fn load(&self, index: usize, ordering: Ordering) -> u64;

    /// Writes a word.
    fn store(&self, index: usize, value: u64, ordering: Ordering);

    /// Writes a word and returns its previous value.
    fn swap(&self, index: usize, value: u64, ordering: Ordering) -> u64;

    /// Orders earlier accesses before later ones, in one order that both sides agree on.
    fn fence(&self);
}

impl<T: SharedWords> SharedWords for Arc<T> {
    fn load(&self, index: usize, ordering: Ordering) -> u64 {
        (**self).load(index, ordering)
    }

    fn store(&self, index: usize, value: u64, ordering: Ordering) {
        (**self).store(index, value, ordering);
    }

    fn swap(&self, index: usize, value: u64, ordering: Ordering) -> u64 {
        (**self).swap(index, value, ordering)
    }

    fn fence(&self) {
        (**self).fence();
    }
}
