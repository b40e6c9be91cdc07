//! Stage five: packets.

use crate::observer::RoomCounts;
use crate::seat::{RoomPlayer, RoomPlayers};
use crate::settings::RoomSettings;
use aether_replication::{ComponentBits, DeltaCache, GatherBuffer, SendSettings, SnapshotContext};
use aether_space::SlotSet;
use aether_world::World;
use rayon::ThreadPool;
use rayon::prelude::*;

/// What is shared by all clients of a snapshot, and scratch memory.
pub(crate) struct Sending {
    deltas: DeltaCache,
    gathered: GatherBuffer,
    ledger: ComponentBits,
    /// Updates sent in this snapshot, over all clients.
    updates: u64,
}

impl Sending {
    pub fn new() -> Self {
        Sending {
            deltas: DeltaCache::default(),
            gathered: GatherBuffer::default(),
            ledger: ComponentBits::default(),
            updates: 0,
        }
    }

    pub fn component_bits(&self) -> &ComponentBits {
        &self.ledger
    }

    /// One client after the other; what one needed encoded is there for the next.
    fn serve(&mut self, frame: &SnapshotContext<'_>, seats: &mut [RoomPlayer]) {
        self.gathered.begin();
        self.deltas.encode_ahead(frame, seats.iter().filter(|seat| seat.served).map(|seat| &seat.view));
        for seat in seats.iter_mut().filter(|seat| seat.served) {
            seat.view.gather(frame, &mut self.deltas, &mut self.gathered);
            assemble(seat, frame, &self.deltas, &mut self.gathered);
        }
        self.updates += self.deltas.count_bits(&mut self.gathered, &mut self.ledger);
    }

    /// Many clients at a time; between two such passes everything is encoded, so the packets are the same.
    fn serve_in_parallel(&mut self, frame: &SnapshotContext<'_>, seats: &mut [RoomPlayer], pool: &ThreadPool) {
        pool.install(|| {
            seats.par_iter_mut().filter(|seat| seat.served).for_each(|seat| {
                seat.gathered.begin();
                seat.view.survey(frame, &mut seat.gathered);
            });
        });
        for seat in seats.iter_mut().filter(|seat| seat.served) {
            seat.view.resolve(frame, &mut self.deltas, &mut seat.gathered);
        }
        let deltas = &self.deltas;
        pool.install(|| {
            seats.par_iter_mut().filter(|seat| seat.served).for_each(|seat| {
                let mut gathered = std::mem::take(&mut seat.gathered);
                assemble(seat, frame, deltas, &mut gathered);
                seat.gathered = gathered;
            });
        });
        for seat in seats.iter_mut().filter(|seat| seat.served) {
            self.updates += self.deltas.count_bits(&mut seat.gathered, &mut self.ledger);
        }
    }
}

fn assemble(seat: &mut RoomPlayer, frame: &SnapshotContext<'_>, deltas: &DeltaCache, gathered: &mut GatherBuffer) {
    if let Some(connection) = &seat.connection {
        seat.view.assemble(frame, deltas, gathered, seat.input_ack, &mut &*connection);
    }
}

/// Parts of the room that the stage reads.
pub(crate) struct SendStage<'a> {
    /// The state after this tick.
    pub world: &'a World,
    /// The rate of snapshots, and the number of clients from which threads share the work.
    pub settings: &'a RoomSettings,
    /// The budget of a client, and the rings.
    pub send: &'a SendSettings,
    /// The factor by which the outer rings are stretched.
    pub ring_stretch: u32,
    /// Threads that share the encoding.
    pub pool: Option<&'a ThreadPool>,
}

impl SendStage<'_> {
    /// Builds a snapshot for every client whose link is free, and clears what had changed. A slow client gets the newest
    /// state later, and never a queue.
    pub fn run(self, sending: &mut Sending, changed: &mut SlotSet, seats: &mut RoomPlayers, counts: &mut RoomCounts) {
        if !self.world.tick().0.is_multiple_of(self.settings.ticks_per_snapshot()) {
            return;
        }
        sending.deltas.begin(self.world, self.settings.seconds_per_tick());
        sending.ledger.component_bits.fill(0);
        sending.updates = 0;
        let mut served = 0;
        for seat in seats.iter_mut() {
            let open = seat.connection.as_ref().filter(|connection| !connection.is_closed());
            seat.served = open.is_some_and(|connection| connection.wants_state());
            if !seat.served && open.is_some() {
                seat.view.defer(changed);
                counts.snapshots_skipped += 1;
            }
            served += usize::from(seat.served);
        }
        let frame =
            SnapshotContext { world: self.world, changed, settings: self.send, ring_stretch: self.ring_stretch };
        match self.pool {
            Some(pool) if served >= self.settings.parallel_clients_min => {
                sending.serve_in_parallel(&frame, seats.as_mut_slice(), pool);
            }
            _ => sending.serve(&frame, seats.as_mut_slice()),
        }
        counts.snapshots += served as u64;
        counts.deltas_encoded += sending.deltas.len() as u64;
        counts.updates += sending.updates;
        changed.clear();
    }
}
