//! Memory that the connections of a thread share, so that one that waits holds none.

use std::cell::RefCell;

/// Bytes that are read at once. Many small messages fit; a longer one takes several turns.
const READ_BYTES: usize = 16_384;
/// Buffers that a thread keeps at hand.
const POOL_MAX: usize = 64;
/// A buffer that grew beyond this goes back to the system.
const POOLED_BYTES_MAX: usize = 65_536;

thread_local! {
    static READ: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES]);
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static POOL: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Lends the thread's read buffer. It must not be asked for again meanwhile.
pub(crate) fn with_read_buffer<R>(use_it: impl FnOnce(&mut [u8]) -> R) -> R {
    READ.with_borrow_mut(|buffer| use_it(buffer))
}

/// Lends the thread's scratch buffer, empty. It must not be asked for again meanwhile.
pub(crate) fn with_scratch<R>(use_it: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    SCRATCH.with_borrow_mut(|buffer| {
        buffer.clear();
        let result = use_it(buffer);
        if buffer.capacity() > POOLED_BYTES_MAX {
            *buffer = Vec::new();
        }
        result
    })
}

/// An empty buffer.
pub(crate) fn take() -> Vec<u8> {
    POOL.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Gives a buffer back.
pub(crate) fn give(mut buffer: Vec<u8>) {
    if buffer.capacity() == 0 || buffer.capacity() > POOLED_BYTES_MAX {
        return;
    }
    buffer.clear();
    POOL.with_borrow_mut(|pool| {
        if pool.len() < POOL_MAX {
            pool.push(buffer);
        }
    });
}
