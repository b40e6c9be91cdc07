//! Stage five: packets.

use crate::game::Game;
use crate::observer::{Observer, Stage};
use crate::room::Room;
use crate::seat::Seat;
use aether_replication::{Deltas, Frame, Gathered, Ledger};
use rayon::ThreadPool;
use rayon::prelude::*;

/// What is shared by all clients of a snapshot, and scratch memory.
pub(crate) struct Sending {
    deltas: Deltas,
    gathered: Gathered,
    ledger: Ledger,
    /// Updates sent in this snapshot, over all clients.
    updates: u64,
}

impl Sending {
    pub fn new() -> Self {
        Sending { deltas: Deltas::default(), gathered: Gathered::default(), ledger: Ledger::default(), updates: 0 }
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// One client after the other; what one needed encoded is there for the next.
    fn serve(&mut self, frame: &Frame<'_>, seats: &mut [Seat]) {
        self.gathered.begin();
        self.deltas.foresee(frame, seats.iter().filter(|seat| seat.served).map(|seat| &seat.view));
        for seat in seats.iter_mut().filter(|seat| seat.served) {
            seat.view.gather(frame, &mut self.deltas, &mut self.gathered);
            assemble(seat, frame, &self.deltas, &mut self.gathered);
        }
        self.updates += self.deltas.charge(&mut self.gathered, &mut self.ledger);
    }

    /// Many clients at a time; between two such passes everything is encoded, so the packets are the same.
    fn serve_in_parallel(&mut self, frame: &Frame<'_>, seats: &mut [Seat], pool: &ThreadPool) {
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
            self.updates += self.deltas.charge(&mut seat.gathered, &mut self.ledger);
        }
    }
}

fn assemble(seat: &mut Seat, frame: &Frame<'_>, deltas: &Deltas, gathered: &mut Gathered) {
    if let Some(connection) = &seat.connection {
        seat.view.assemble(frame, deltas, gathered, seat.input_ack, &mut &*connection);
    }
}

impl<G: Game> Room<G> {
    /// Builds a snapshot for every client whose link is free. A slow one gets the newest state later, and never a queue.
    pub(crate) fn send(&mut self, observer: &mut impl Observer) {
        observer.stage(self.now(), Stage::Send);
        let Room { state, extraction, sending, overload, pool, .. } = self;
        if !state.world.tick().0.is_multiple_of(state.settings.ticks_per_snapshot()) {
            return;
        }
        sending.deltas.begin(&state.world, state.settings.seconds_per_tick());
        sending.ledger.component_bits.fill(0);
        sending.updates = 0;
        let mut served = 0;
        for seat in state.seats.iter_mut() {
            let open = seat.connection.as_ref().filter(|connection| !connection.is_closed());
            seat.served = open.is_some_and(|connection| connection.wants_state());
            if !seat.served && open.is_some() {
                seat.view.defer(&extraction.changed);
                state.desk.counts.snapshots_skipped += 1;
            }
            served += usize::from(seat.served);
        }
        let frame = Frame {
            world: &state.world,
            changed: &extraction.changed,
            settings: &state.send,
            ring_stretch: overload.ring_stretch(),
        };
        match pool {
            Some(pool) if served >= state.settings.parallel_clients_min => {
                sending.serve_in_parallel(&frame, state.seats.as_mut_slice(), pool);
            }
            _ => sending.serve(&frame, state.seats.as_mut_slice()),
        }
        state.desk.counts.snapshots += served as u64;
        state.desk.counts.deltas_encoded += sending.deltas.len() as u64;
        state.desk.counts.updates += sending.updates;
        extraction.changed.clear();
    }
}
