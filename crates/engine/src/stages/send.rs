//! Stage 5: builds the packets.

use crate::observer::RoomCounts;
use crate::players::{RoomPlayer, RoomPlayers};
use crate::scratch::TickScratch;
use crate::settings::RoomSettings;
use crate::spectators::Spectators;
use aether_replication::{ComponentBits, DeltaCache, GatherBuffer, SendSettings, SnapshotContext};
use aether_space::SlotSet;
use aether_world::World;
use rayon::ThreadPool;
use rayon::prelude::*;

/// Sizes of the last snapshot.
pub(crate) struct Sending {
    component_bits: ComponentBits,
    /// Updates sent in this snapshot, over all clients.
    updates: u64,
}

impl Sending {
    pub fn new() -> Self {
        Sending { component_bits: ComponentBits::default(), updates: 0 }
    }

    pub fn component_bits(&self) -> &ComponentBits {
        &self.component_bits
    }

    /// Serves one client after the other. Deltas encoded for one are reused for the next.
    fn serve(&mut self, context: &SnapshotContext<'_>, scratch: &mut TickScratch, players: &mut [RoomPlayer]) {
        let TickScratch { deltas, gathered, .. } = scratch;
        gathered.begin();
        deltas.encode_ahead(context, players.iter().filter(|player| player.is_served).map(|player| &player.view));
        for player in players.iter_mut().filter(|player| player.is_served) {
            player.view.gather(context, deltas, gathered);
            assemble(player, context, deltas, gathered);
        }
        self.updates += deltas.count_bits(gathered, &mut self.component_bits);
    }

    /// Serves many clients at a time: each thread serves a part of them, with a copy of the deltas that were encoded
    /// ahead. The packets are the same. Returns the number of further deltas that threads have encoded for themselves.
    fn serve_in_parallel(
        &mut self,
        context: &SnapshotContext<'_>,
        scratch: &mut TickScratch,
        players: &mut [RoomPlayer],
        pool: &ThreadPool,
    ) -> usize {
        let TickScratch { deltas, workers, .. } = scratch;
        deltas.encode_ahead(context, players.iter().filter(|player| player.is_served).map(|player| &player.view));
        let (threads, deltas) = (pool.current_num_threads(), &*deltas);
        if workers.len() < threads {
            workers.resize_with(threads, EncodeWorker::default);
        }
        let parts = players.par_chunks_mut(players.len().div_ceil(threads));
        let parts_count = parts.len();
        pool.install(|| {
            parts.zip(&mut workers[..]).for_each(|(players, worker)| worker.serve(context, deltas, players));
        });
        let mut encoded = 0;
        for worker in &workers[..parts_count] {
            self.updates += worker.updates;
            self.component_bits.bits.resize(worker.component_bits.bits.len(), 0);
            for (total, bits) in self.component_bits.bits.iter_mut().zip(&worker.component_bits.bits) {
                *total += bits;
            }
            encoded += worker.deltas.len() - deltas.len();
        }
        encoded
    }
}

/// Memory of one part of the clients that are served at the same time.
#[derive(Default)]
pub(crate) struct EncodeWorker {
    deltas: DeltaCache,
    gathered: GatherBuffer,
    component_bits: ComponentBits,
    updates: u64,
}

impl EncodeWorker {
    /// Serves clients one after the other.
    fn serve(&mut self, context: &SnapshotContext<'_>, encoded: &DeltaCache, players: &mut [RoomPlayer]) {
        self.deltas.copy_from(encoded);
        self.gathered.begin();
        for player in players.iter_mut().filter(|player| player.is_served) {
            player.view.gather(context, &mut self.deltas, &mut self.gathered);
            assemble(player, context, &self.deltas, &mut self.gathered);
        }
        self.component_bits.bits.fill(0);
        self.updates = self.deltas.count_bits(&mut self.gathered, &mut self.component_bits);
    }
}

fn assemble(player: &mut RoomPlayer, context: &SnapshotContext<'_>, deltas: &DeltaCache, gathered: &mut GatherBuffer) {
    if let Some(connection) = &player.connection {
        player.view.assemble(context, deltas, gathered, player.input_ack, &mut &*connection);
    }
}

/// Parts of the room that the stage reads.
pub(crate) struct SendStage<'a> {
    /// World after this tick.
    pub world: &'a World,
    /// Rate of snapshots, and the number of clients from which threads share the work.
    pub settings: &'a RoomSettings,
    /// Byte budget of a client, and the update rings.
    pub send: &'a SendSettings,
    /// Factor by which the outer rings are stretched.
    pub ring_stretch: u32,
    /// Threads that share the encoding.
    pub pool: Option<&'a ThreadPool>,
}

impl SendStage<'_> {
    /// Builds a snapshot for every client that has taken the last one, and clears the changes. A slow client gets the
    /// newest state later instead of a queue.
    pub fn run(
        self,
        scratch: &mut TickScratch,
        sending: &mut Sending,
        changed: &mut SlotSet,
        (players, spectators): (&mut RoomPlayers, &mut Spectators),
        counts: &mut RoomCounts,
    ) {
        if !self.world.tick().0.is_multiple_of(self.settings.ticks_per_snapshot()) {
            return;
        }
        scratch.deltas.begin(self.world, self.settings.seconds_per_tick());
        sending.component_bits.bits.fill(0);
        sending.updates = 0;
        let mut is_served = 0;
        for player in players.iter_mut() {
            let open = player.connection.as_ref();
            let open = open.filter(|connection| connection.takes_state() && !connection.is_closed());
            player.is_served = open.is_some_and(|connection| connection.is_ready_for_state());
            if !player.is_served && open.is_some() {
                player.view.defer(changed);
                counts.snapshots_skipped += 1;
            }
            is_served += usize::from(player.is_served);
        }
        let context =
            SnapshotContext { world: self.world, changed, settings: self.send, ring_stretch: self.ring_stretch };
        match self.pool {
            Some(pool) if is_served >= self.settings.parallel_clients_min => {
                let encoded = sending.serve_in_parallel(&context, scratch, players.as_mut_slice(), pool);
                counts.deltas_encoded += encoded as u64;
                counts.snapshots_parallel += is_served as u64;
            }
            _ => sending.serve(&context, scratch, players.as_mut_slice()),
        }
        counts.snapshots += is_served as u64;
        counts.deltas_encoded += scratch.deltas.len() as u64;
        counts.updates += sending.updates;
        spectators.send(&context, &mut scratch.deltas, &mut scratch.gathered);
        changed.clear();
    }
}
