//! Wakes the connections of a room together, after its tick.

use std::task::Waker;

/// Wakes connections. A tick thread calls it once after each tick of a room, with all connections that have new output.
///
/// Waking a task from another thread takes a lock, and a system call if its thread sleeps. On a busy machine the woken
/// thread may also run at once, before the next connection is woken. A server therefore passes all wakers of a tick to
/// one task beside the connections; see [`WakeEach`] for the simple way.
pub trait ConnectionWaking: Send + Sync + 'static {
    /// Wakes the connections and removes their wakers. The vector is reused.
    fn wake(&self, wakers: &mut Vec<Waker>);
}

/// Wakes one connection after the other on the tick thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct WakeEach;

impl ConnectionWaking for WakeEach {
    fn wake(&self, wakers: &mut Vec<Waker>) {
        wakers.drain(..).for_each(Waker::wake);
    }
}
