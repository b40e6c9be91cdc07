//! What a bot does on one connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aether_bits::Random;
use aether_bits::Schema;
use aether_client_native::{Connection, ConnectionError, TransportKind};
use aether_replication::DeliveryOrder;
use aether_wire::{
    ClientMessage, ClientTime, Closing, DeliveryPath, Event, Ping, Pong, ServerMessage, Snapshot, StateAck, Tick,
    Welcome,
};
use tokio::time::{Interval, MissedTickBehavior, interval_at};

use super::{Phase, Shared};
use crate::arguments::BotBehavior;
use crate::deliveries::{Presence, read_stamp, stamped};
use crate::input::InputMaker;
use crate::network::{LOOK_INTERVAL, Network};
use crate::state::State;

const PING_INTERVAL: Duration = Duration::from_secs(1);

/// How long a bot that has nothing to do waits before it looks whether the run has ended.
const QUIET_INTERVAL: Duration = Duration::from_millis(500);

/// State packets that wait for the schema at most: some seconds of them.
const WAITING_MAX: usize = 512;

/// How long a bot takes to leave.
const LEAVE_DEADLINE: Duration = Duration::from_secs(2);

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The run is over.
    Finished,
    /// The connection is gone; the bot may come back.
    Lost,
    /// The server does not want the bot back.
    Refused,
}

/// A bot on one connection.
pub(super) struct Session<'a> {
    bot: u32,
    shared: &'a Shared,
    presence: Presence<'a>,
    welcome: Welcome,
    transport: TransportKind,
    random: Random,
    schema: Option<Arc<Schema>>,
    /// State packets that came before the schema. Later ones are made from them.
    waiting: Vec<Vec<u8>>,
    state: Option<State>,
    inputs: Option<InputMaker>,
    network: Option<Network>,
    outgoing: Vec<ClientMessage>,
    closing: Option<Closing>,
}

impl<'a> Session<'a> {
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
            waiting: Vec::new(),
            state: None,
            inputs: None,
            network: conditions.map(|conditions| Network::new(conditions, transport, seed, Instant::now())),
            outgoing: Vec::new(),
            closing: None,
        };
        if session.shared.arguments.play() == BotBehavior::Inputs {
            match session.schema.is_some() {
                true => session.begin(),
                false => session.outgoing.push(ClientMessage::SchemaRequest),
            }
        }
        session
    }

    /// Plays until the connection or the run ends.
    pub(super) async fn run(mut self, mut connection: Connection) -> Ended {
        let mut play = self.interval(self.play_interval());
        let mut ping = self.interval(PING_INTERVAL);
        let mut look = self.interval(LOOK_INTERVAL);
        let drop_at = tokio::time::sleep(self.time_until_drop());
        tokio::pin!(drop_at);
        loop {
            if let Err(error) = self.send_all(&mut connection) {
                return self.lost(&error);
            }
            let is_conditioned = self.network.is_some();
            let mut arrive = |frame: &[u8]| self.arrive(frame);
            tokio::select! {
                // Timers first: a server that never pauses must not keep a bot from playing.
                biased;
                _ = ping.tick() => self.ping(),
                _ = play.tick() => {
                    if self.shared.phase() == Phase::End {
                        self.leave(connection).await;
                        return Ended::Finished;
                    }
                    self.play();
                }
                () = &mut drop_at => return Ended::Lost,
                _ = look.tick(), if is_conditioned => {
                    if let Err(error) = self.look(&mut connection) {
                        return self.lost(&error);
                    }
                }
                result = connection.receive(&mut arrive) => {
                    if let Err(error) = result {
                        return self.lost(&error);
                    }
                }
            }
        }
    }

    fn link(&self) -> DeliveryOrder {
        self.transport.delivery_order()
    }

    fn play_interval(&self) -> Duration {
        match self.shared.arguments.play() {
            BotBehavior::Nothing => QUIET_INTERVAL,
            BotBehavior::Inputs | BotBehavior::Messages => Duration::from_secs(1) / self.shared.arguments.rate.max(1),
        }
    }

    /// An interval that begins somewhere within itself, so that bots do not act all at once.
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

    /// Whether what happens now counts.
    fn is_measuring(&self) -> bool {
        self.shared.phase() == Phase::Play
    }

    fn acknowledgement(&self) -> StateAck {
        match (&self.state, self.link()) {
            (Some(state), DeliveryOrder::Unordered) => state.acknowledgement(),
            _ => StateAck::NONE,
        }
    }

    fn tick(&self) -> Tick {
        self.state.as_ref().map_or(self.welcome.server_tick, State::tick)
    }

    fn ping(&mut self) {
        let client_time = ClientTime(self.shared.start.elapsed().as_micros() as u64);
        self.outgoing.push(ClientMessage::Ping(Ping { client_time, tick: self.tick() }));
    }

    /// Does what a player does once in a while.
    fn play(&mut self) {
        match self.shared.arguments.play() {
            BotBehavior::Nothing => {}
            BotBehavior::Inputs => self.play_inputs(),
            BotBehavior::Messages if self.is_measuring() => {
                let bytes = self.shared.arguments.message_bytes as usize;
                self.outgoing.push(stamped(self.shared.start.elapsed(), self.bot, bytes));
                self.shared.shard(self.bot).deliveries_expected += self.presence.others();
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
                state.input_sent(maker.last(), now);
                self.outgoing.push(ClientMessage::Inputs(inputs));
            }
            _ if ack != StateAck::NONE => self.outgoing.push(ClientMessage::Ack(ack)),
            _ => {}
        }
    }

    /// Sends what has gathered, over the network that the bot pretends to have.
    fn send_all(&mut self, connection: &mut Connection) -> Result<(), ConnectionError> {
        for message in self.outgoing.drain(..) {
            let mut frame = Vec::new();
            message.encode(&mut frame)?;
            if self.shared.phase() == Phase::Play {
                let mut measures = self.shared.shard(self.bot);
                measures.messages_out += 1;
                measures.bytes_out += frame.len() as u64;
            }
            match &mut self.network {
                None => connection.queue_frame(DeliveryPath::of(&message), &frame)?,
                Some(network) => network.push_up(DeliveryPath::of(&message), frame, Instant::now()),
            }
        }
        Ok(())
    }

    /// Moves what the pretended network has let through.
    fn look(&mut self, connection: &mut Connection) -> Result<(), ConnectionError> {
        let now = Instant::now();
        while let Some((path, frame)) = self.network.as_mut().and_then(|network| network.pop_up(now)) {
            connection.queue_frame(path, &frame)?;
        }
        while let Some(frame) = self.network.as_mut().and_then(|network| network.pop_down(now)) {
            self.take(&frame, now);
        }
        Ok(())
    }

    /// A frame came from the server; the pretended network may hold it back.
    fn arrive(&mut self, frame: &[u8]) {
        let now = Instant::now();
        match &mut self.network {
            None => self.take(frame, now),
            Some(network) => network.push_down(frame, now),
        }
    }

    fn take(&mut self, frame: &[u8], now: Instant) {
        if self.is_measuring() {
            let mut measures = self.shared.shard(self.bot);
            measures.messages_in += 1;
            measures.bytes_in += frame.len() as u64;
        }
        match ServerMessage::decode(frame) {
            Ok(ServerMessage::Snapshot(Snapshot::Packed(packet))) => self.take_state(packet, now),
            Ok(ServerMessage::Event(event)) => self.take_event(&event),
            Ok(ServerMessage::Pong(pong)) => self.take_pong(&pong),
            Ok(ServerMessage::Schema(bytes)) => self.take_schema(&bytes, now),
            Ok(ServerMessage::Closing(closing)) => self.closing = Some(closing),
            Ok(ServerMessage::Error(error)) => self.shared.shard(self.bot).errors.count(error.code.name()),
            Ok(ServerMessage::Correction(_)) if self.is_measuring() => self.shared.shard(self.bot).corrections += 1,
            Ok(_) => {}
            Err(_) => self.shared.shard(self.bot).errors.count("unreadable message"),
        }
    }

    fn take_state(&mut self, packet: Vec<u8>, now: Instant) {
        let is_measuring = self.is_measuring();
        let Some(state) = &mut self.state else {
            if self.waiting.len() < WAITING_MAX && self.shared.arguments.play() == BotBehavior::Inputs {
                self.waiting.push(packet);
            }
            return;
        };
        let freshness = state.apply(&packet, now);
        if !is_measuring {
            return;
        }
        let mut measures = self.shared.shard(self.bot);
        match freshness {
            Ok(freshness) => {
                measures.state_packets += 1;
                freshness.jitter.into_iter().for_each(|time| measures.state_jitter.record(time));
                freshness.input_to_state.into_iter().for_each(|time| measures.input_to_state.record(time));
            }
            Err(_) => measures.state_unreadable += 1,
        }
    }

    fn take_event(&mut self, event: &Event) {
        if self.shared.arguments.play() == BotBehavior::Messages
            && let Some((sender, sent_at)) = read_stamp(&event.body)
            && sender != self.bot
        {
            let time = self.shared.start.elapsed().saturating_sub(sent_at);
            let mut measures = self.shared.shard(self.bot);
            measures.deliveries += 1;
            measures.delivery.record(time);
        }
    }

    fn take_pong(&mut self, pong: &Pong) {
        if self.is_measuring() {
            let hold = Duration::from_micros(pong.hold_us.into());
            let sent_at = Duration::from_micros(pong.client_time.0);
            let time = self.shared.start.elapsed().saturating_sub(sent_at);
            let mut measures = self.shared.shard(self.bot);
            measures.round_trip.record(time.saturating_sub(hold));
            measures.ping_hold.record(hold);
        }
    }

    fn take_schema(&mut self, bytes: &[u8], now: Instant) {
        match Schema::from_bytes(bytes) {
            Ok(schema) if schema.hash() == self.welcome.schema_hash.0 && self.state.is_none() => {
                let schema = Arc::new(schema);
                self.shared.add_schema(self.welcome.schema_hash, Arc::clone(&schema));
                self.schema = Some(schema);
                self.begin();
                for packet in std::mem::take(&mut self.waiting) {
                    self.take_state(packet, now);
                }
            }
            Ok(_) => {}
            Err(_) => self.shared.shard(self.bot).errors.count("unreadable schema"),
        }
    }

    /// Begins to follow the world, now that it is known what it looks like.
    fn begin(&mut self) {
        let Some(schema) = &self.schema else { return };
        let followed = (!self.shared.arguments.light).then_some(&**schema);
        self.state = Some(State::new(followed, self.link(), self.welcome.tick_hz));
        self.inputs = InputMaker::new(schema, self.link() == DeliveryOrder::Ordered);
    }

    async fn leave(mut self, mut connection: Connection) {
        self.outgoing = vec![ClientMessage::Leave];
        self.network = None;
        let _ = self.send_all(&mut connection);
        // A server that does not answer any more need not hold up the end of the run.
        let _ = tokio::time::timeout(LEAVE_DEADLINE, connection.close()).await;
    }

    /// Notes why the connection ended.
    fn lost(&mut self, error: &ConnectionError) -> Ended {
        let closing = self.closing.as_ref();
        let reason = closing.map_or_else(|| error.label(), |closing| closing.reason.name().to_owned());
        self.shared.shard(self.bot).disconnects.count(&reason);
        if closing.is_none_or(|closing| closing.may_resume) { Ended::Lost } else { Ended::Refused }
    }
}
