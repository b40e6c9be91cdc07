//! Session of a bot on one connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aether_bits::Random;
use aether_bits::Schema;
use aether_client::SimulatedNetwork;
use aether_client_native::{Connection, ConnectionError, TransportKind};
use aether_replication::DeliveryOrder;
use aether_wire::{
    ClientMessage, ClientTime, Closing, DeliveryPath, Event, Ping, Pong, ServerMessage, Snapshot, StateAck, Tick,
    Welcome,
};
use tokio::time::{Interval, MissedTickBehavior, interval_at};

use super::{Phase, Shared};
use crate::arguments::BotBehavior;
use crate::deliveries::{Presence, read_stamp, stamped_message};
use crate::input::InputMaker;
use crate::state::BotState;

/// Interval at which the simulated network is polled: the accuracy of its delays.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Largest number of bytes in the simulated network, on their way to a bot.
const NETWORK_BYTES_MAX: usize = 1 << 20;

const PING_INTERVAL: Duration = Duration::from_secs(1);

/// Interval at which an idle bot checks for the end of the run.
const IDLE_INTERVAL: Duration = Duration::from_millis(500);

/// Largest number of state packets stored until the schema arrives: some seconds of them.
const EARLY_PACKETS_MAX: usize = 512;

/// Longest wait for a connection to close.
const LEAVE_DEADLINE: Duration = Duration::from_secs(2);

/// End of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionEnd {
    /// The run has ended.
    Finished,
    /// The connection was lost; the bot may resume.
    Lost,
    /// The server does not allow a resume.
    Rejected,
}

/// Bot on one connection.
pub(super) struct BotSession<'a> {
    bot: u32,
    shared: &'a Shared,
    presence: Presence<'a>,
    welcome: Welcome,
    transport: TransportKind,
    random: Random,
    schema: Option<Arc<Schema>>,
    /// State packets that arrived before the schema. Later packets use them as baselines.
    early_packets: Vec<Vec<u8>>,
    state: Option<BotState>,
    inputs: Option<InputMaker>,
    network: Option<SimulatedNetwork>,
    started_at: Instant,
    outgoing: Vec<ClientMessage>,
    closing: Option<Closing>,
}

impl<'a> BotSession<'a> {
    pub(super) fn new(
        bot: u32,
        shared: &'a Shared,
        welcome: Welcome,
        transport: TransportKind,
        mut random: Random,
    ) -> Self {
        let conditions = shared.arguments.conditions();
        let seed = random.bits();
        let mut session = Self {
            bot,
            shared,
            presence: shared.rooms.enter(bot),
            schema: shared.schema(welcome.schema_hash),
            welcome,
            transport,
            random,
            early_packets: Vec::new(),
            state: None,
            inputs: None,
            network: conditions.map(|conditions| SimulatedNetwork::new(conditions, transport.delivery_order(), seed)),
            started_at: Instant::now(),
            outgoing: Vec::new(),
            closing: None,
        };
        if session.shared.arguments.play() == BotBehavior::Inputs {
            match session.schema.is_some() {
                true => session.start_playing(),
                false => session.outgoing.push(ClientMessage::SchemaRequest),
            }
        }
        session
    }

    /// Plays until the connection or the run ends.
    pub(super) async fn run(mut self, mut connection: Connection) -> SessionEnd {
        let mut play = self.interval(self.play_interval());
        let mut ping = self.interval(PING_INTERVAL);
        let mut poll_network = self.interval(POLL_INTERVAL);
        let drop_at = tokio::time::sleep(self.time_until_drop());
        tokio::pin!(drop_at);
        loop {
            if let Err(error) = self.send_all(&mut connection) {
                return self.record_disconnect(&error);
            }
            let is_conditioned = self.network.is_some();
            // A network that is too slow for the room stops reading, so that the server notices.
            let can_read = self.network.as_ref().is_none_or(|network| network.bytes_down() < NETWORK_BYTES_MAX);
            let mut receive_frame = |frame: &[u8]| self.receive_frame(frame);
            tokio::select! {
                // Timers first, so that a server that sends constantly does not block the bot.
                biased;
                _ = ping.tick() => self.ping(),
                _ = play.tick() => {
                    if self.shared.phase() == Phase::End {
                        self.leave(connection).await;
                        return SessionEnd::Finished;
                    }
                    self.play();
                }
                () = &mut drop_at => return SessionEnd::Lost,
                _ = poll_network.tick(), if is_conditioned => {
                    if let Err(error) = self.poll_network(&mut connection) {
                        return self.record_disconnect(&error);
                    }
                }
                result = connection.receive(&mut receive_frame), if can_read => {
                    if let Err(error) = result {
                        return self.record_disconnect(&error);
                    }
                }
            }
        }
    }

    fn delivery_order(&self) -> DeliveryOrder {
        self.transport.delivery_order()
    }

    fn play_interval(&self) -> Duration {
        match self.shared.arguments.play() {
            BotBehavior::Nothing => IDLE_INTERVAL,
            BotBehavior::Inputs | BotBehavior::Messages => Duration::from_secs(1) / self.shared.arguments.rate.max(1),
        }
    }

    /// Creates an interval with a random phase, so that bots do not act at the same time.
    fn interval(&mut self, period: Duration) -> Interval {
        let begin = tokio::time::Instant::now() + period.mul_f32(self.random.unit());
        let mut interval = interval_at(begin, period);
        interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
        interval
    }

    fn time_until_drop(&mut self) -> Duration {
        match self.shared.arguments.churn_seconds {
            Some(seconds) => Duration::from_secs(seconds).mul_f32(0.5 + self.random.unit()),
            None => Duration::MAX / 4,
        }
    }

    /// Returns true while metrics are recorded.
    fn is_measuring(&self) -> bool {
        self.shared.phase() == Phase::Play
    }

    fn acknowledgement(&self) -> StateAck {
        match (&self.state, self.delivery_order()) {
            (Some(state), DeliveryOrder::Unordered) => state.acknowledgement(),
            _ => StateAck::NONE,
        }
    }

    fn tick(&self) -> Tick {
        self.state.as_ref().map_or(self.welcome.server_tick, BotState::tick)
    }

    fn ping(&mut self) {
        let client_time = ClientTime(self.shared.start.elapsed().as_micros() as u64);
        self.outgoing.push(ClientMessage::Ping(Ping { client_time, tick: self.tick() }));
    }

    /// Sends the next input or message.
    fn play(&mut self) {
        match self.shared.arguments.play() {
            BotBehavior::Nothing => {}
            BotBehavior::Inputs => self.play_inputs(),
            BotBehavior::Messages if self.is_measuring() => {
                let bytes = self.shared.arguments.message_bytes as usize;
                self.outgoing.push(stamped_message(self.shared.start.elapsed(), self.bot, bytes));
                self.shared.shard(self.bot).deliveries_expected += self.presence.other_bots();
            }
            BotBehavior::Messages => {}
        }
    }

    fn play_inputs(&mut self) {
        let now = Instant::now();
        let (ack, tick) = (self.acknowledgement(), self.tick());
        if self.is_measuring()
            && let Some(age) = self.state.as_ref().and_then(|state| state.age(now))
        {
            self.shared.shard(self.bot).staleness.record(age);
        }
        let inputs = self.inputs.as_mut().and_then(|maker| maker.next(&mut self.random, ack, tick));
        match (inputs, &self.inputs, &mut self.state) {
            (Some(inputs), Some(maker), Some(state)) => {
                state.record_input(maker.last(), now);
                self.outgoing.push(ClientMessage::Inputs(inputs));
            }
            _ if ack != StateAck::NONE => self.outgoing.push(ClientMessage::Ack(ack)),
            _ => {}
        }
    }

    /// Sends queued messages over the simulated network.
    fn send_all(&mut self, connection: &mut Connection) -> Result<(), ConnectionError> {
        for message in self.outgoing.drain(..) {
            let mut frame = Vec::new();
            message.encode(&mut frame)?;
            if self.shared.phase() == Phase::Play {
                let mut metrics = self.shared.shard(self.bot);
                metrics.messages_out += 1;
                metrics.bytes_out += frame.len() as u64;
            }
            match &mut self.network {
                None => connection.queue_frame(DeliveryPath::of(&message), &frame)?,
                Some(network) => network.push_up(DeliveryPath::of(&message), frame, self.started_at.elapsed()),
            }
        }
        Ok(())
    }

    /// Delivers frames that the simulated network releases.
    fn poll_network(&mut self, connection: &mut Connection) -> Result<(), ConnectionError> {
        let now = Instant::now();
        let time = now.saturating_duration_since(self.started_at);
        while let Some((path, frame)) = self.network.as_mut().and_then(|network| network.pop_up(time)) {
            connection.queue_frame(path, &frame)?;
        }
        while let Some(frame) = self.network.as_mut().and_then(|network| network.pop_down(time)) {
            self.handle_frame(&frame, now);
        }
        Ok(())
    }

    /// Handles a frame from the server, which the simulated network may delay.
    fn receive_frame(&mut self, frame: &[u8]) {
        let now = Instant::now();
        match &mut self.network {
            None => self.handle_frame(frame, now),
            Some(network) => network.push_down(frame, now.saturating_duration_since(self.started_at)),
        }
    }

    fn handle_frame(&mut self, frame: &[u8], now: Instant) {
        if self.is_measuring() {
            let mut metrics = self.shared.shard(self.bot);
            metrics.messages_in += 1;
            metrics.bytes_in += frame.len() as u64;
        }
        match ServerMessage::decode(frame) {
            Ok(ServerMessage::Snapshot(Snapshot::Packed(packet))) => self.handle_state(packet.bytes, now),
            Ok(ServerMessage::Event(event)) => self.handle_event(&event),
            Ok(ServerMessage::Pong(pong)) => self.handle_pong(&pong),
            Ok(ServerMessage::Schema(bytes)) => self.handle_schema(&bytes, now),
            Ok(ServerMessage::Closing(closing)) => self.closing = Some(closing),
            Ok(ServerMessage::Error(error)) => self.shared.shard(self.bot).errors.count(error.code.name()),
            Ok(ServerMessage::Correction(_)) if self.is_measuring() => self.shared.shard(self.bot).corrections += 1,
            Ok(_) => {}
            Err(_) => self.shared.shard(self.bot).errors.count("message not decodable"),
        }
    }

    fn handle_state(&mut self, packet: Vec<u8>, now: Instant) {
        let is_measuring = self.is_measuring();
        let Some(state) = &mut self.state else {
            if self.early_packets.len() < EARLY_PACKETS_MAX && self.shared.arguments.play() == BotBehavior::Inputs {
                self.early_packets.push(packet);
            }
            return;
        };
        let timing = state.apply(&packet, now);
        if !is_measuring {
            return;
        }
        let mut metrics = self.shared.shard(self.bot);
        match timing {
            Ok(timing) => {
                metrics.state_packets += 1;
                timing.jitter.into_iter().for_each(|time| metrics.state_jitter.record(time));
                timing.input_to_state.into_iter().for_each(|time| metrics.input_to_state.record(time));
            }
            Err(_) => metrics.state_unreadable += 1,
        }
    }

    fn handle_event(&mut self, event: &Event) {
        if self.shared.arguments.play() == BotBehavior::Messages
            && let Some((sender, sent_at)) = read_stamp(&event.body)
            && sender != self.bot
        {
            let time = self.shared.start.elapsed().saturating_sub(sent_at);
            let mut metrics = self.shared.shard(self.bot);
            metrics.deliveries += 1;
            metrics.delivery.record(time);
        }
    }

    fn handle_pong(&mut self, pong: &Pong) {
        if self.is_measuring() {
            let hold = Duration::from_micros(pong.hold_us.into());
            let sent_at = Duration::from_micros(pong.client_time.0);
            let time = self.shared.start.elapsed().saturating_sub(sent_at);
            let mut metrics = self.shared.shard(self.bot);
            metrics.round_trip.record(time.saturating_sub(hold));
            metrics.ping_hold.record(hold);
        }
    }

    fn handle_schema(&mut self, bytes: &[u8], now: Instant) {
        match Schema::from_bytes(bytes) {
            Ok(schema) if schema.hash() == self.welcome.schema_hash.0 && self.state.is_none() => {
                let schema = Arc::new(schema);
                self.shared.add_schema(self.welcome.schema_hash, Arc::clone(&schema));
                self.schema = Some(schema);
                self.start_playing();
                for packet in std::mem::take(&mut self.early_packets) {
                    self.handle_state(packet, now);
                }
            }
            Ok(_) => {}
            Err(_) => self.shared.shard(self.bot).errors.count("schema not decodable"),
        }
    }

    /// Starts to apply state and send inputs, once the schema is known.
    fn start_playing(&mut self) {
        let Some(schema) = &self.schema else { return };
        let schema_to_apply = (!self.shared.arguments.light).then_some(&**schema);
        self.state = Some(BotState::new(schema_to_apply, self.delivery_order(), self.welcome.tick_hz));
        self.inputs = InputMaker::new(schema, self.delivery_order() == DeliveryOrder::Ordered);
    }

    async fn leave(mut self, mut connection: Connection) {
        self.outgoing = vec![ClientMessage::Leave];
        self.network = None;
        let _ = self.send_all(&mut connection);
        // A timeout, so that a server that does not answer does not delay the end of the run.
        let _ = tokio::time::timeout(LEAVE_DEADLINE, connection.close()).await;
    }

    /// Records the reason of a disconnect.
    fn record_disconnect(&mut self, error: &ConnectionError) -> SessionEnd {
        let closing = self.closing.as_ref();
        let reason = closing.map_or_else(|| error.label(), |closing| closing.reason.name().to_owned());
        self.shared.shard(self.bot).disconnects.count(&reason);
        if closing.is_none_or(|closing| closing.may_resume) { SessionEnd::Lost } else { SessionEnd::Rejected }
    }
}
