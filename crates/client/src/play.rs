//! The time in a room, from one welcome to the next.

use crate::others::RemoteEntities;
use crate::own::OwnEntity;
use crate::timing::ClientTiming;
use crate::{ClientGame, ClientSchemaBuilder, ClientSettings, ClientStats, EndReason, OutgoingMessage};
use aether_bits::{ReadError, Schema};
use aether_replication::{DeliveryOrder, Mirror};
use aether_wire::{ClientMessage, Inputs, Ping, Possession, SchemaHash, StateAck, Tick, Welcome};
use std::time::Duration;

/// Ticks a second beyond which a server is not believed. Rooms tick up to 128 times a second.
const TICK_HZ_MAX: u32 = 1_000;
/// State packets that wait for the schema: some seconds of them.
const WAITING_MAX: usize = 512;
/// How often state is acknowledged when there is no input to send it with.
const ACK_INTERVAL: Duration = Duration::from_millis(50);

/// A room as its client knows it.
pub(crate) struct JoinedRoom<G: ClientGame> {
    link: DeliveryOrder,
    /// Whether the room ticks. A relay room does not.
    ticks: bool,
    seconds_per_tick: f32,
    schema_hash: SchemaHash,
    pub schema: Schema,
    /// The copy of the world; nothing until the schema is known.
    pub mirror: Option<Mirror>,
    /// State that came before the schema. Later state is made from it.
    waiting: Vec<Vec<u8>>,
    pub timing: ClientTiming,
    pub own: OwnEntity<G>,
    pub others: RemoteEntities<G>,
    advanced_at: Duration,
    acknowledged: (StateAck, Duration),
}

impl<G: ClientGame> JoinedRoom<G> {
    /// Begins with what the server says of the room.
    pub fn new(
        welcome: &Welcome,
        link: DeliveryOrder,
        (game, settings): (&G, &ClientSettings),
        now: Duration,
    ) -> Result<Self, EndReason> {
        if welcome.tick_hz > TICK_HZ_MAX || welcome.snapshot_hz > welcome.tick_hz {
            return Err(EndReason::InvalidRates);
        }
        let seconds_per_tick = 1.0 / welcome.tick_hz.max(1) as f32;
        let mut play = JoinedRoom {
            link,
            ticks: welcome.tick_hz > 0,
            seconds_per_tick,
            schema_hash: welcome.schema_hash,
            schema: Schema::default(),
            mirror: None,
            waiting: Vec::new(),
            timing: ClientTiming::new(welcome, settings, now),
            own: OwnEntity::new(seconds_per_tick),
            others: RemoteEntities::new(),
            advanced_at: now,
            acknowledged: (StateAck::NONE, now),
        };
        play.declare(game);
        Ok(play)
    }

    /// Whether the schema has to be asked for.
    pub fn lacks_schema(&self) -> bool {
        self.ticks && self.mirror.is_none()
    }

    /// The schema came.
    pub fn learn(&mut self, game: &mut G, bytes: &[u8]) -> Result<Vec<Vec<u8>>, EndReason> {
        let schema = Schema::from_bytes(bytes).ok().filter(|schema| schema.hash() == self.schema_hash.0);
        let Some(schema) = schema.filter(|_| self.lacks_schema()) else { return Ok(Vec::new()) };
        game.learn_schema(&schema);
        self.declare(game);
        match self.lacks_schema() {
            true => Err(EndReason::UnknownSchema),
            false => Ok(std::mem::take(&mut self.waiting)),
        }
    }

    /// Takes in a state packet.
    pub fn take(
        &mut self,
        (game, settings): (&mut G, &ClientSettings),
        packet: &[u8],
        now: Duration,
        stats: &mut ClientStats,
    ) -> Result<(), EndReason> {
        let Some(mirror) = &mut self.mirror else {
            match self.waiting.len() < WAITING_MAX {
                true => self.waiting.push(packet.to_vec()),
                false => stats.faults += 1,
            }
            return Ok(());
        };
        if !tick_of(packet).is_some_and(|tick| self.timing.is_plausible(tick, now)) {
            stats.faults += 1;
            return Ok(());
        }
        let applied = match mirror.apply(packet) {
            Ok(applied) if !applied.stale => applied,
            // Where packets overtake each other, what one is made from may be gone when it comes.
            Err(ReadError::NoBaseline) if self.link == DeliveryOrder::Unordered => {
                stats.packets_late += 1;
                return Ok(());
            }
            Ok(_) => {
                stats.packets_late += 1;
                return Ok(());
            }
            Err(_) => {
                stats.faults += 1;
                return Ok(());
            }
        };
        stats.packets += 1;
        game.observe(mirror);
        self.timing.arrived(applied.tick, now);
        let known = self.timing.known_before(applied.tick);
        if !self.others.take((&*game, settings), mirror, &applied, known) {
            return Err(EndReason::TooManyEntities);
        }
        self.own.take((&*game, settings), mirror, &applied, &self.timing, stats);
        Ok(())
    }

    /// The player steers an entity.
    pub fn possess(&mut self, possession: Possession) {
        self.own.possess(possession, self.others.sequence(possession.entity));
    }

    /// Goes on to now: makes the inputs that are due, and says what is to be sent.
    pub fn advance(
        &mut self,
        (game, settings): (&G, &ClientSettings),
        input: Option<&G::Input>,
        now: Duration,
        outbox: &mut Vec<OutgoingMessage>,
        stats: &mut ClientStats,
    ) {
        if let Some(client_time) = self.timing.round_trip.ping(now) {
            let tick = self.timing.clock.tick();
            outbox.push(OutgoingMessage::unreliable(ClientMessage::Ping(Ping { client_time, tick })));
        }
        if !self.ticks {
            return;
        }
        let due = self.timing.advance(now, settings);
        let mut made = 0;
        if let Some(input) = input.filter(|_| self.mirror.is_some()) {
            made = (0..due).filter(|_| self.own.act(game, input)).count();
            stats.inputs += made as u64;
        }
        self.send(made, settings, now, outbox);
        let view = self.timing.sampling(settings).tick;
        self.own.fade(now.saturating_sub(self.advanced_at), settings, view);
        self.others.prune(view);
        self.advanced_at = self.advanced_at.max(now);
    }

    pub fn fill(&self, settings: &ClientSettings, stats: &mut ClientStats) {
        self.timing.fill(stats);
        if let Some(mirror) = &self.mirror {
            self.own.fill(settings, mirror.input_ack(), stats);
            stats.packets_missing = mirror.acknowledgement().missing().count_ones();
        }
    }

    /// The tick that the client plays.
    pub fn tick(&self) -> Tick {
        self.timing.clock.tick()
    }

    /// Sends the inputs that were made, or the acknowledgement alone.
    fn send(&mut self, made: usize, settings: &ClientSettings, now: Duration, outbox: &mut Vec<OutgoingMessage>) {
        let Some(mirror) = &self.mirror else { return };
        let is_ordered = self.link == DeliveryOrder::Ordered;
        let ack = if is_ordered { StateAck::NONE } else { mirror.acknowledgement() };
        // On an ordered link everything arrives, so nothing is repeated.
        let acknowledged = if is_ordered { self.own.history.last() } else { mirror.input_ack() };
        if made > 0 {
            if let Some((first_seq, payloads)) = self.own.history.run(acknowledged, made) {
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

    /// Makes the copy of the world, if the game declares what the room replicates.
    fn declare(&mut self, game: &G) {
        let declaration = game.declare(ClientSchemaBuilder::default());
        if declaration.hash() == self.schema_hash {
            let (mirror, schema) = declaration.build(self.link, self.seconds_per_tick);
            (self.mirror, self.schema) = (Some(mirror), schema);
        }
    }
}

/// The tick of a state packet: its first four bytes.
fn tick_of(packet: &[u8]) -> Option<Tick> {
    packet.first_chunk().map(|bytes| Tick(u32::from_le_bytes(*bytes)))
}
