//! [`TickScratch`]: memory that a tick uses only while it runs.

use crate::recording::TickInput;
use crate::stages::EncodeWorker;
use aether_replication::{DeltaCache, GatherBuffer};
use std::cell::Cell;

/// Scratch memory of a tick. All rooms of a thread share it: a small room then uses memory that is still in the cache
/// from the room before it, instead of memory of its own.
#[derive(Default)]
pub(crate) struct TickScratch {
    /// Tick inputs of the current tick, in order.
    pub tick_inputs: Vec<TickInput>,
    /// Deltas shared by all clients of a snapshot.
    pub deltas: DeltaCache,
    /// Due entities of one client.
    pub gathered: GatherBuffer,
    /// Memory of the threads that share the encoding of a large room.
    pub workers: Vec<EncodeWorker>,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<TickScratch>>> = const { Cell::new(None) };
}

impl TickScratch {
    /// Takes the memory of this thread, or new memory if it is in use.
    pub fn take() -> Box<TickScratch> {
        SCRATCH.take().unwrap_or_default()
    }

    /// Returns the memory for the next tick of this thread.
    pub fn give_back(self: Box<Self>) {
        SCRATCH.set(Some(self));
    }
}
