//! State of a joined room, from one welcome to the next.

use crate::held_state::HeldState;
use crate::own_entity::OwnEntity;
use crate::remote_entities::RemoteEntities;
use crate::timing::ClientTiming;
use crate::{ClientGame, ClientSchemaBuilder, ClientSettings, ClientStats, EndReason, OutgoingMessage};
use aether_bits::{ReadError, Schema};
use aether_replication::{AppliedPacket, DeliveryOrder, Mirror};
use aether_wire::limits::ACK_WINDOW_PACKETS;
use aether_wire::{ClientMessage, Inputs, PacketSeq, Ping, Possession, SchemaHash, StateAck, Tick, Welcome};
use std::time::Duration;

/// Largest tick rate that is accepted. Rooms tick up to 128 times per second.
const TICK_HZ_MAX: u32 = 1_000;
/// State packets stored until the schema arrives: some seconds of them.
const EARLY_PACKETS_MAX: usize = 512;
/// Interval of acknowledgements while there is no input to carry them.
const ACK_INTERVAL: Duration = Duration::from_millis(50);

/// Room that the client has joined.
pub(crate) struct JoinedRoom<G: ClientGame> {
    delivery_order: DeliveryOrder,
    /// False in a relay room, which has no ticks.
    has_ticks: bool,
    seconds_per_tick: f32,
    schema_hash: SchemaHash,
    pub schema: Schema,
    /// Copy of the world. `None` until the schema is known.
    pub mirror: Option<Mirror>,
    /// State packets that wait for events.
    pub held_state: HeldState,
    /// State packets that arrived before the schema. Later packets use them as baselines.
    early_packets: Vec<Vec<u8>>,
    pub timing: ClientTiming,
    pub own_entity: OwnEntity<G>,
    pub remote_entities: RemoteEntities<G>,
    advanced_at: Duration,
    acknowledged: (StateAck, Duration),
}

impl<G: ClientGame> JoinedRoom<G> {
    /// Creates the state of a room from its welcome.
    pub fn new(
        welcome: &Welcome,
        delivery_order: DeliveryOrder,
        (game, settings): (&G, &ClientSettings),
        now: Duration,
    ) -> Result<Self, EndReason> {
        if welcome.tick_hz > TICK_HZ_MAX || welcome.snapshot_hz > welcome.tick_hz {
            return Err(EndReason::InvalidRates);
        }
        let seconds_per_tick = 1.0 / welcome.tick_hz.max(1) as f32;
        let mut room = JoinedRoom {
            delivery_order,
            has_ticks: welcome.tick_hz > 0,
            seconds_per_tick,
            schema_hash: welcome.schema_hash,
            schema: Schema::default(),
            mirror: None,
            held_state: HeldState::default(),
            early_packets: Vec::new(),
            timing: ClientTiming::new(welcome, settings, now),
            own_entity: OwnEntity::new(seconds_per_tick),
            remote_entities: RemoteEntities::new(),
            advanced_at: now,
            acknowledged: (StateAck::NONE, now),
        };
        room.create_mirror(game);
        Ok(room)
    }

    /// Returns true if the client has to request the schema.
    pub fn lacks_schema(&self) -> bool {
        self.has_ticks && self.mirror.is_none()
    }

    /// Handles the schema. Returns the packets that arrived before it.
    pub fn handle_schema(&mut self, game: &mut G, bytes: &[u8]) -> Result<Vec<Vec<u8>>, EndReason> {
        let schema = Schema::from_bytes(bytes).ok().filter(|schema| schema.hash() == self.schema_hash.0);
        let Some(schema) = schema.filter(|_| self.lacks_schema()) else { return Ok(Vec::new()) };
        game.learn_schema(&schema);
        self.create_mirror(game);
        match self.lacks_schema() {
            true => Err(EndReason::UnknownSchema),
            false => Ok(std::mem::take(&mut self.early_packets)),
        }
    }

    /// Handles a state packet. Returns its tick if the mirror has read it, at least in part: what entered and left then
    /// has to be reported.
    pub fn handle_packet(
        &mut self,
        (game, settings): (&mut G, &ClientSettings),
        packet: &[u8],
        now: Duration,
        stats: &mut ClientStats,
    ) -> Result<Option<Tick>, EndReason> {
        let Some(mirror) = &mut self.mirror else {
            match self.early_packets.len() < EARLY_PACKETS_MAX {
                true => self.early_packets.push(packet.to_vec()),
                false => stats.faults += 1,
            }
            return Ok(None);
        };
        let Some(tick) = tick_of(packet).filter(|tick| self.timing.is_plausible(*tick, now)) else {
            stats.faults += 1;
            return Ok(None);
        };
        let applied = match mirror.apply(packet) {
            Ok(applied) if !applied.stale => applied,
            Ok(_) => {
                stats.packets_late += 1;
                return Ok(None);
            }
            Err(error) => {
                // With reordered packets, the baseline may be gone when a packet arrives.
                let is_late = error == ReadError::NoBaseline && self.delivery_order == DeliveryOrder::Unordered;
                *if is_late { &mut stats.packets_late } else { &mut stats.faults } += 1;
                return self.handle_partial_packet((game, settings), tick);
            }
        };
        stats.packets += 1;
        game.observe(mirror);
        self.timing.handle_arrival(applied.tick, now);
        let previous_tick = self.timing.tick_before(applied.tick);
        if !self.remote_entities.handle_packet((&*game, settings), mirror, &applied, previous_tick) {
            return Err(EndReason::TooManyEntities);
        }
        self.own_entity.handle_packet((&*game, settings), mirror, &applied, &self.timing, stats);
        Ok(Some(tick))
    }

    /// Handles a packet that could be read only up to an error. The mirror keeps what it has read, and the server sends
    /// the rest again. Entities that entered or left are not reported by that packet once more.
    fn handle_partial_packet(
        &mut self,
        (game, settings): (&mut G, &ClientSettings),
        tick: Tick,
    ) -> Result<Option<Tick>, EndReason> {
        let Some(mirror) = &self.mirror else { return Ok(None) };
        game.observe(mirror);
        let input_ack = mirror.input_ack();
        let applied = AppliedPacket { tick, sequence: PacketSeq(0), input_ack, last: false, stale: false };
        let previous_tick = self.timing.tick_before(tick);
        if !self.remote_entities.handle_packet((&*game, settings), mirror, &applied, previous_tick) {
            return Err(EndReason::TooManyEntities);
        }
        self.own_entity.handle_departure(mirror);
        Ok(Some(tick))
    }

    /// Handles a new possession.
    pub fn possess(&mut self, possession: Possession) {
        self.own_entity.possess(possession, self.remote_entities.last_packet(possession.entity));
    }

    /// Advances to `now`: creates the inputs that are due and queues the messages to send.
    pub fn advance(
        &mut self,
        (game, settings): (&G, &ClientSettings),
        input: Option<&G::Input>,
        now: Duration,
        outbox: &mut Vec<OutgoingMessage>,
        stats: &mut ClientStats,
    ) {
        if let Some(client_time) = self.timing.round_trip.poll_ping(now) {
            let tick = self.timing.clock.tick();
            outbox.push(OutgoingMessage::unreliable(ClientMessage::Ping(Ping { client_time, tick })));
        }
        if !self.has_ticks {
            return;
        }
        let due = self.timing.advance(now, settings);
        let mut made = 0;
        if let Some(input) = input.filter(|_| self.mirror.is_some()) {
            made = (0..due).filter(|_| self.own_entity.apply_input(game, input)).count();
            stats.inputs += made as u64;
        }
        self.send_inputs(made, settings, now, outbox);
        let display_tick = self.timing.sampling(settings).tick;
        self.own_entity.advance(now.saturating_sub(self.advanced_at), settings, display_tick);
        self.remote_entities.prune(display_tick);
        self.advanced_at = self.advanced_at.max(now);
    }

    pub fn fill_stats(&self, settings: &ClientSettings, stats: &mut ClientStats) {
        self.timing.fill_stats(stats);
        if let Some(mirror) = &self.mirror {
            self.own_entity.fill_stats(settings, mirror.input_ack(), stats);
            let ack = mirror.acknowledgement();
            stats.packets_missing = ack.missing().count_ones();
            stats.loss = stats.packets_missing as f32 / ack.latest().0.clamp(1, ACK_WINDOW_PACKETS) as f32;
        }
    }

    /// Current tick of the client.
    pub fn tick(&self) -> Tick {
        self.timing.clock.tick()
    }

    /// Sends new inputs with the acknowledgement, or the acknowledgement alone.
    fn send_inputs(
        &mut self,
        made: usize,
        settings: &ClientSettings,
        now: Duration,
        outbox: &mut Vec<OutgoingMessage>,
    ) {
        let Some(mirror) = &self.mirror else { return };
        let is_ordered = self.delivery_order == DeliveryOrder::Ordered;
        let ack = if is_ordered { StateAck::NONE } else { mirror.acknowledgement() };
        // With ordered delivery everything arrives, so nothing is repeated.
        let acknowledged = if is_ordered { self.own_entity.history.last() } else { mirror.input_ack() };
        if made > 0 {
            if let Some((first_seq, payloads)) = self.own_entity.history.payloads_to_send(acknowledged, made) {
                let view = self.timing.view_tick(settings);
                let inputs = Inputs { first_seq, payloads, ack, view };
                outbox.push(OutgoingMessage::unreliable(ClientMessage::Inputs(inputs)));
                self.acknowledged = (ack, now);
            }
        } else if ack != self.acknowledged.0 && now >= self.acknowledged.1.saturating_add(ACK_INTERVAL) {
            outbox.push(OutgoingMessage::unreliable(ClientMessage::Ack(ack)));
            self.acknowledged = (ack, now);
        }
    }

    /// Creates the mirror if the game's schema is the room's.
    fn create_mirror(&mut self, game: &G) {
        let builder = game.declare(ClientSchemaBuilder::default());
        if builder.hash() == self.schema_hash {
            let (mirror, schema) = builder.build(self.delivery_order, self.seconds_per_tick);
            (self.mirror, self.schema) = (Some(mirror), schema);
        }
    }
}

/// Reads the tick of a state packet: its first four bytes.
fn tick_of(packet: &[u8]) -> Option<Tick> {
    packet.first_chunk().map(|bytes| Tick(u32::from_le_bytes(*bytes)))
}
