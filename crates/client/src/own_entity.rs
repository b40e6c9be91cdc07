//! Prediction of the own entity, and the inputs of the player.

use crate::timing::ClientTiming;
use crate::{
    ClientGame, ClientSettings, ClientStats, EntityTrack, ErrorSmoothing, InputHistory, Interpolate, Prediction,
};
use aether_bits::BitWriter;
use aether_replication::{AppliedPacket, Mirror};
use aether_wire::limits::ACK_WINDOW_PACKETS;
use aether_wire::{EntityId, InputBytes, InputSeq, PacketSeq, Possession, Tick};
use std::time::Duration;

/// Own entity with its inputs, prediction and smoothing.
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
    /// Tick of the server state that the prediction starts from.
    base: Tick,
    /// Last packet that contained its state, if known.
    last_packet: Option<PacketSeq>,
    /// States that the server sent.
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

    /// Predicted state after all inputs.
    pub fn predicted(&self) -> Option<&G::State> {
        self.prediction.newest()
    }

    /// Starts to control an entity. `last_packet` is the last packet that contained its state, if known.
    pub fn possess(&mut self, possession: Possession, last_packet: Option<PacketSeq>) {
        if self.entity() == Some(possession.entity) {
            return;
        }
        self.release();
        let Possession { tick, entity } = possession;
        let base = Tick(tick.0.saturating_sub(1));
        self.possessed = Some(Possessed { entity, base, last_packet, track: EntityTrack::default() });
    }

    /// Clears the possession.
    pub fn release(&mut self) {
        self.possessed = None;
        self.prediction.clear();
        self.smoothing.clear();
    }

    /// Records an input and predicts its effect. Returns false if it is too long to be sent.
    pub fn apply_input(&mut self, game: &G, input: &G::Input) -> bool {
        self.writer.clear();
        self.packed.clear();
        game.pack_input(input, &mut self.writer);
        self.writer.copy_to(&mut self.packed);
        let Some(bytes) = InputBytes::new(&self.packed) else { return false };
        let seq = self.history.push(input.clone(), bytes);
        self.prediction.step(game, (seq, input), self.seconds_per_tick);
        true
    }

    /// Handles the part of an applied packet that concerns the own entity.
    pub fn handle_packet(
        &mut self,
        (game, settings): (&G, &ClientSettings),
        mirror: &Mirror,
        applied: &AppliedPacket,
        timing: &ClientTiming,
        stats: &mut ClientStats,
    ) {
        if self.handle_departure(mirror) {
            return;
        }
        let Some(possessed) = &mut self.possessed else {
            self.history.discard_through(mirror.input_ack());
            return;
        };
        let entity = possessed.entity;
        let is_in_packet = mirror.updated().contains(&entity) || mirror.entered().contains(&entity);
        if !is_in_packet && !is_unchanged(possessed.last_packet, mirror, applied) {
            return;
        }
        let Some(state) = game.own_state(mirror, entity) else { return };
        if is_in_packet {
            possessed.last_packet = Some(applied.sequence);
        }
        if is_in_packet || possessed.track.newest().is_none() {
            possessed.track.push(applied.tick, state.clone(), timing.tick_before(applied.tick));
        }
        if applied.tick > possessed.base {
            possessed.base = applied.tick;
            self.reconcile((game, settings), applied.input_ack, state, stats);
        }
    }

    /// Stops the prediction if the own entity left with the last packet. Returns true if it did.
    pub fn handle_departure(&mut self, mirror: &Mirror) -> bool {
        let Some(possessed) = self.possessed.as_mut().filter(|own| mirror.left().contains(&own.entity)) else {
            return false;
        };
        // Nothing to predict until the entity enters again.
        possessed.track.clear();
        self.prediction.clear();
        self.smoothing.clear();
        true
    }

    /// Advances the error smoothing and drops old states.
    pub fn advance(&mut self, elapsed: Duration, settings: &ClientSettings, display_tick: f64) {
        self.smoothing.advance(elapsed, settings.smoothing);
        if let Some(possessed) = &mut self.possessed {
            possessed.track.prune(display_tick);
        }
    }

    /// State to draw.
    pub fn displayed(&self, settings: &ClientSettings, timing: &ClientTiming) -> Option<G::State> {
        let possessed = self.possessed.as_ref()?;
        match (self.prediction.previous(), self.prediction.newest()) {
            (Some(before), Some(newest)) if settings.prediction => {
                let is_teleport = before.distance(newest) > settings.teleport_distance;
                let fraction = if is_teleport { 1.0 } else { timing.clock.fraction() };
                // Interpolation at 1.0 may round; the newest state is exact.
                let state = if fraction < 1.0 { before.between(newest, fraction) } else { newest.clone() };
                Some(self.smoothing.smoothed(&state))
            }
            _ => possessed.track.sample(&timing.sampling(settings)),
        }
    }

    pub fn fill_stats(&self, settings: &ClientSettings, acknowledged: InputSeq, stats: &mut ClientStats) {
        stats.displayed_error = if settings.prediction { self.smoothing.distance() } else { 0.0 };
        stats.inputs_unacknowledged = self.history.len_after(acknowledged);
    }

    /// Compares the server's state after an input with the predicted one, and corrects the prediction.
    fn reconcile(
        &mut self,
        (game, settings): (&G, &ClientSettings),
        acknowledged: InputSeq,
        server: G::State,
        stats: &mut ClientStats,
    ) {
        if acknowledged > self.history.last() {
            // The server cannot have applied an input that was never sent.
            stats.faults += 1;
            return;
        }
        self.history.discard_through(acknowledged);
        let error = self.prediction.error(game, acknowledged, &server);
        if self.prediction.newest().is_some() && !settings.reconciliation {
            self.prediction.discard_before(acknowledged);
            return;
        }
        if let Some(size) = error {
            stats.corrections += 1;
            stats.correction_size = size;
            stats.correction_size_max = stats.correction_size_max.max(size);
        }
        let before = self.prediction.newest().cloned();
        let inputs = self.history.inputs_after(acknowledged);
        self.prediction.replay(game, (acknowledged, server), inputs, self.seconds_per_tick);
        if let (Some(before), Some(after)) = (before, self.prediction.newest())
            && (error.is_some() || before.distance(after) > 0.0)
        {
            self.smoothing.correct(&before, after, settings.snap_distance);
        }
    }
}

/// Returns true if an entity that is absent from a packet is known to be unchanged: the packet is the last of the
/// newest snapshot, and all packets since the one that contained the entity have arrived.
fn is_unchanged(last_packet: Option<PacketSeq>, mirror: &Mirror, applied: &AppliedPacket) -> bool {
    let Some(PacketSeq(from)) = last_packet else { return false };
    let (PacketSeq(to), received) = (applied.sequence, mirror.acknowledgement());
    applied.last
        && applied.tick == mirror.tick()
        && to > from
        && to - from <= ACK_WINDOW_PACKETS
        && (from + 1..=to).all(|sequence| received.contains(PacketSeq(sequence)))
}
