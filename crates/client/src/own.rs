//! The player's own entity and inputs.

use crate::timing::ClientTiming;
use crate::{
    ClientGame, ClientSettings, ClientStats, EntityTrack, ErrorSmoothing, InputHistory, Interpolate, Prediction,
};
use aether_bits::BitWriter;
use aether_replication::{AppliedPacket, Mirror};
use aether_wire::limits::ACK_WINDOW_PACKETS;
use aether_wire::{EntityId, InputBytes, InputSeq, PacketSeq, Possession, Tick};
use std::time::Duration;

/// What the player steers, and how.
pub(crate) struct OwnEntity<G: ClientGame> {
    possessed: Option<Possessed<G::State>>,
    pub history: InputHistory<G::Input>,
    prediction: Prediction<G>,
    smoothing: ErrorSmoothing<G::State>,
    seconds_per_tick: f32,
    writer: BitWriter,
    packed: Vec<u8>,
}

struct Possessed<S> {
    entity: EntityId,
    /// The tick of the state that prediction stands on.
    base: Tick,
    /// The last packet that brought its state, if that is known.
    sequence: Option<PacketSeq>,
    /// Its states as the server sent them.
    track: EntityTrack<S>,
}

impl<G: ClientGame> OwnEntity<G> {
    pub fn new(seconds_per_tick: f32) -> Self {
        OwnEntity {
            possessed: None,
            history: InputHistory::default(),
            prediction: Prediction::default(),
            smoothing: ErrorSmoothing::default(),
            seconds_per_tick,
            writer: BitWriter::new(),
            packed: Vec::new(),
        }
    }

    pub fn entity(&self) -> Option<EntityId> {
        self.possessed.as_ref().map(|possessed| possessed.entity)
    }

    /// The state after all inputs, as it is predicted.
    pub fn predicted(&self) -> Option<&G::State> {
        self.prediction.newest()
    }

    /// The player steers an entity from now on. `sequence` is the packet that last brought its state, if it is known.
    pub fn possess(&mut self, possession: Possession, sequence: Option<PacketSeq>) {
        if self.entity() == Some(possession.entity) {
            return;
        }
        self.release();
        let Possession { tick, entity } = possession;
        let base = Tick(tick.0.saturating_sub(1));
        self.possessed = Some(Possessed { entity, base, sequence, track: EntityTrack::default() });
    }

    /// The player steers nothing.
    pub fn release(&mut self) {
        self.possessed = None;
        self.prediction.clear();
        self.smoothing.clear();
    }

    /// Makes an input and steps ahead with it. False if it is too long to be sent.
    pub fn act(&mut self, game: &G, input: &G::Input) -> bool {
        self.writer.clear();
        self.packed.clear();
        game.pack_input(input, &mut self.writer);
        self.writer.copy_to(&mut self.packed);
        let Some(bytes) = InputBytes::new(&self.packed) else { return false };
        let seq = self.history.push(input.clone(), bytes);
        self.prediction.step(game, (seq, input), self.seconds_per_tick);
        true
    }

    /// A packet was taken in: takes from it what it says of the own entity.
    pub fn take(
        &mut self,
        (game, settings): (&G, &ClientSettings),
        mirror: &Mirror,
        applied: &AppliedPacket,
        timing: &ClientTiming,
        stats: &mut ClientStats,
    ) {
        let Some(possessed) = &mut self.possessed else {
            self.history.forget(mirror.input_ack());
            return;
        };
        let entity = possessed.entity;
        if mirror.left().contains(&entity) {
            // There is nothing to predict until it comes back.
            possessed.track.clear();
            self.prediction.clear();
            self.smoothing.clear();
            return;
        }
        let is_here = mirror.updated().contains(&entity) || mirror.entered().contains(&entity);
        if !is_here && !has_rested(possessed.sequence, mirror, applied) {
            return;
        }
        let Some(state) = game.own_state(mirror, entity) else { return };
        if is_here {
            possessed.sequence = Some(applied.sequence);
        }
        if is_here || possessed.track.newest().is_none() {
            possessed.track.push(applied.tick, state.clone(), timing.known_before(applied.tick));
        }
        if applied.tick > possessed.base {
            possessed.base = applied.tick;
            self.reconcile((game, settings), applied.input_ack, state, stats);
        }
    }

    /// Lets an error fade.
    pub fn fade(&mut self, elapsed: Duration, settings: &ClientSettings, view: f64) {
        self.smoothing.advance(elapsed, settings.smoothing);
        if let Some(possessed) = &mut self.possessed {
            possessed.track.prune(view);
        }
    }

    /// The own entity as it is to be drawn.
    pub fn shown(&self, settings: &ClientSettings, timing: &ClientTiming) -> Option<G::State> {
        let possessed = self.possessed.as_ref()?;
        match (self.prediction.before(), self.prediction.newest()) {
            (Some(before), Some(newest)) if settings.prediction => {
                let is_teleport = before.distance(newest) > settings.teleport_distance;
                let fraction = if is_teleport { 1.0 } else { timing.clock.fraction() };
                // The newest stands for itself, so that a value that lies on it is exactly it.
                let between = if fraction < 1.0 { before.between(newest, fraction) } else { newest.clone() };
                Some(self.smoothing.shown(&between))
            }
            _ => possessed.track.sample(&timing.sampling(settings)),
        }
    }

    pub fn fill(&self, settings: &ClientSettings, acknowledged: InputSeq, stats: &mut ClientStats) {
        stats.displayed_error = if settings.prediction { self.smoothing.distance() } else { 0.0 };
        stats.inputs_unacknowledged = self.history.len_after(acknowledged);
    }

    /// The server's state after one of the inputs is here: what was predicted for it shows whether it was right.
    fn reconcile(
        &mut self,
        (game, settings): (&G, &ClientSettings),
        acknowledged: InputSeq,
        server: G::State,
        stats: &mut ClientStats,
    ) {
        if acknowledged > self.history.last() {
            // Nobody can have applied an input that was not made.
            stats.faults += 1;
            return;
        }
        self.history.forget(acknowledged);
        let error = self.prediction.error(game, acknowledged, &server);
        if self.prediction.newest().is_some() && !settings.reconciliation {
            self.prediction.forget(acknowledged);
            return;
        }
        if let Some(size) = error {
            stats.corrections += 1;
            stats.correction_size = size;
            stats.correction_size_max = stats.correction_size_max.max(size);
        }
        let before = self.prediction.newest().cloned();
        let inputs = self.history.after(acknowledged);
        self.prediction.replay(game, (acknowledged, server), inputs, self.seconds_per_tick);
        if let (Some(before), Some(after)) = (before, self.prediction.newest())
            && (error.is_some() || before.distance(after) > 0.0)
        {
            self.smoothing.corrected(&before, after, settings.snap_distance);
        }
    }
}

/// Whether an entity that a packet does not speak of is known to be as it was: the packet is the last of the newest
/// snapshot, and all packets have arrived since the one that spoke of it.
fn has_rested(sequence: Option<PacketSeq>, mirror: &Mirror, applied: &AppliedPacket) -> bool {
    let Some(PacketSeq(from)) = sequence else { return false };
    let (PacketSeq(to), received) = (applied.sequence, mirror.acknowledgement());
    applied.last
        && applied.tick == mirror.tick()
        && to > from
        && to - from <= ACK_WINDOW_PACKETS
        && (from + 1..=to).all(|sequence| received.contains(PacketSeq(sequence)))
}
