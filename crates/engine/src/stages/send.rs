//! Stage 5: builds the packets.

use crate::observer::RoomCounts;
use crate::players::{RoomPlayer, RoomPlayers};
use crate::scratch::TickScratch;
use crate::settings::RoomSettings;
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

    /// Serves many clients at a time. All deltas are encoded between two parallel passes, so the packets are the same.
    fn serve_in_parallel(
        &mut self,
        context: &SnapshotContext<'_>,
        deltas: &mut DeltaCache,
        players: &mut [RoomPlayer],
        pool: &ThreadPool,
    ) {
        pool.install(|| {
            players.par_iter_mut().filter(|player| player.is_served).for_each(|player| {
                let gathered = player.gathered.get_or_insert_default();
                gathered.begin();
                player.view.survey(context, gathered);
            });
        });
        for player in players.iter_mut().filter(|player| player.is_served) {
            if let Some(gathered) = &mut player.gathered {
                player.view.resolve(context, deltas, gathered);
            }
        }
        let deltas = &*deltas;
        pool.install(|| {
            players.par_iter_mut().filter(|player| player.is_served).for_each(|player| {
                let mut gathered = player.gathered.take();
                if let Some(gathered) = &mut gathered {
                    assemble(player, context, deltas, gathered);
                }
                player.gathered = gathered;
            });
        });
        for player in players.iter_mut().filter(|player| player.is_served) {
            if let Some(gathered) = &mut player.gathered {
                self.updates += deltas.count_bits(gathered, &mut self.component_bits);
            }
        }
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
        players: &mut RoomPlayers,
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
            let open = player.connection.as_ref().filter(|connection| !connection.is_closed());
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
                sending.serve_in_parallel(&context, &mut scratch.deltas, players.as_mut_slice(), pool);
                counts.snapshots_parallel += is_served as u64;
            }
            _ => sending.serve(&context, scratch, players.as_mut_slice()),
        }
        counts.snapshots += is_served as u64;
        counts.deltas_encoded += scratch.deltas.len() as u64;
        counts.updates += sending.updates;
        changed.clear();
    }
}
