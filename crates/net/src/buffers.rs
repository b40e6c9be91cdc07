//! Buffers that the connections of a thread share, so that an idle connection holds none.

use std::cell::RefCell;

/// Default size of the read buffer, in bytes. Many small messages fit; a longer one takes several reads.
pub(crate) const READ_BYTES: usize = 16_384;
/// Most buffers in the pool of a thread.
const POOL_MAX: usize = 64;
/// Largest buffer that is returned to the pool, in bytes; larger ones are freed.
const POOLED_BYTES_MAX: usize = 65_536;

thread_local! {
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static POOL: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Calls a closure with `bytes` of the thread's read buffer, which grows to this size. Nested calls panic.
pub(crate) fn with_read_buffer<R>(bytes: usize, f: impl FnOnce(&mut [u8]) -> R) -> R {
    READ.with_borrow_mut(|buffer| {
        if buffer.len() < bytes {
            buffer.resize(bytes, 0);
        }
        f(&mut buffer[..bytes])
    })
}

/// Calls a closure with the thread's scratch buffer, which is empty. Nested calls panic.
pub(crate) fn with_scratch<R>(f: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    SCRATCH.with_borrow_mut(|buffer| {
        buffer.clear();
        let result = f(buffer);
        if buffer.capacity() > POOLED_BYTES_MAX {
            *buffer = Vec::new();
        }
        result
    })
}

/// Takes an empty buffer from the pool.
pub(crate) fn take() -> Vec<u8> {
    POOL.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Returns a buffer to the pool.
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
