//! [`TestClient`]: a client in memory, with its endpoint, its networks and its mirror.

use crate::{Conditioner, Conditions, Delivery, Traffic};
use aether_bits::{ReadError, Schema};
use aether_engine::{ConnectionEndpoint, Rejection};
use aether_replication::{DeliveryOrder, Mirror};
use aether_wire::{
    Ack, ClientMessage, Closing, CommandSeq, Correction, EntityId, Event, InputBytes, InputPayload, InputSeq, Inputs,
    PlayerId, Possession, ServerMessage, Snapshot, StateAck, Tick, ViewTick, encode_state_packet,
};
use std::collections::VecDeque;
use std::time::Duration;

/// Inputs in a message, including the newest: two consecutive lost messages lose no input.
const INPUTS_REPEATED: usize = 3;
/// Maximum number of frames in flight on a stream, like the window of a real one.
const STREAM_FRAMES_MAX: usize = 32;

/// Everything that a client has received on its current connection.
#[derive(Clone, Debug, Default)]
pub struct ReceivedState {
    /// Events, in the order of arrival.
    pub events: Vec<Event>,
    /// Possessions, in order.
    pub possessions: Vec<Possession>,
    /// Corrections.
    pub corrections: Vec<Correction>,
    /// Answers to commands.
    pub acks: Vec<Ack>,
    /// Ticks at which the world was cleared.
    pub cleared: Vec<Tick>,
    /// Entities that entered, each with the tick of the state.
    pub sightings: Vec<Sighting>,
    /// State packets that were applied.
    pub packets: u64,
    /// State packets that were too old to apply.
    pub packets_stale: u64,
    /// State packets whose baseline is no longer stored.
    pub packets_without_baseline: u64,
    /// Faults: frames that cannot be read. There should be none.
    pub faults: Vec<String>,
}

/// Entry of an entity into a client's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Tick of the state.
    pub tick: Tick,
    /// The entity.
    pub entity: EntityId,
}

/// A client of a harness.
pub struct TestClient {
    name: String,
    order: DeliveryOrder,
    conditions: Conditions,
    endpoint: Option<ConnectionEndpoint>,
    player: Option<PlayerId>,
    rejection: Option<Rejection>,
    closing: Option<Closing>,
    mirror: Mirror,
    received: ReceivedState,
    network: Network,
    /// Traffic of earlier connections.
    traffic_before: Traffic,
    stalled: bool,
    recent_inputs: VecDeque<InputBytes>,
    last_input: InputSeq,
    last_command: CommandSeq,
    /// A message that waits because the room's inbox is full.
    blocked: Option<ClientMessage>,
}

/// The four network paths between a client and a room.
struct Network {
    state_down: Conditioner<Vec<u8>>,
    stream_down: Conditioner<Vec<u8>>,
    inputs_up: Conditioner<Vec<u8>>,
    stream_up: Conditioner<Vec<u8>>,
}

impl Network {
    fn new(order: DeliveryOrder, conditions: Conditions, seed: u64) -> Self {
        let datagrams = match order {
            DeliveryOrder::Ordered => Delivery::Stream,
            DeliveryOrder::Unordered => Delivery::Datagrams,
        };
        Network {
            state_down: Conditioner::new(conditions, datagrams, seed),
            stream_down: Conditioner::new(conditions, Delivery::Stream, seed ^ 1),
            inputs_up: Conditioner::new(conditions, datagrams, seed ^ 2),
            stream_up: Conditioner::new(conditions, Delivery::Stream, seed ^ 3),
        }
    }

    fn each(&mut self) -> [&mut Conditioner<Vec<u8>>; 4] {
        [&mut self.state_down, &mut self.stream_down, &mut self.inputs_up, &mut self.stream_up]
    }
}

impl TestClient {
    /// Returns the display name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the delivery order of the connection.
    #[must_use]
    pub fn order(&self) -> DeliveryOrder {
        self.order
    }

    /// Returns the player, once the join was accepted.
    #[must_use]
    pub fn player(&self) -> Option<PlayerId> {
        self.player
    }

    /// Returns the rejection if the join or resume was rejected.
    #[must_use]
    pub fn rejection(&self) -> Option<&Rejection> {
        self.rejection.as_ref()
    }

    /// Returns the close notice if the room closed the connection.
    #[must_use]
    pub fn closing(&self) -> Option<&Closing> {
        self.closing.as_ref()
    }

    /// Returns true if the client is connected.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.endpoint.is_some()
    }

    /// Returns true if the client is connected and has joined.
    #[must_use]
    pub fn is_joined(&self) -> bool {
        self.endpoint.is_some() && self.player.is_some()
    }

    /// Returns the client's copy of the world.
    #[must_use]
    pub fn mirror(&self) -> &Mirror {
        &self.mirror
    }

    /// Returns everything that arrived on the current connection.
    #[must_use]
    pub fn received(&self) -> &ReceivedState {
        &self.received
    }

    /// Returns the sequence number of the last input on the current connection.
    #[must_use]
    pub fn last_input(&self) -> InputSeq {
        self.last_input
    }

    /// Returns the number of the last command.
    #[must_use]
    pub fn last_command(&self) -> CommandSeq {
        self.last_command
    }

    /// Returns the traffic of all its connections.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let Network { state_down, stream_down, inputs_up, stream_up } = &self.network;
        [state_down, stream_down, inputs_up, stream_up].into_iter().fold(self.traffic_before, |sum, network| {
            let more = network.traffic();
            Traffic {
                sent: sum.sent + more.sent,
                bytes: sum.bytes + more.bytes,
                lost: sum.lost + more.lost,
                doubled: sum.doubled + more.doubled,
                delivered: sum.delivered + more.delivered,
            }
        })
    }

    pub(crate) fn new(name: String, order: DeliveryOrder, conditions: Conditions, mirror: Mirror) -> Self {
        TestClient {
            name,
            order,
            conditions,
            endpoint: None,
            player: None,
            rejection: None,
            closing: None,
            mirror,
            received: ReceivedState::default(),
            network: Network::new(order, conditions, 0),
            traffic_before: Traffic::default(),
            stalled: false,
            recent_inputs: VecDeque::new(),
            last_input: InputSeq(0),
            last_command: CommandSeq(0),
            blocked: None,
        }
    }

    /// Starts a new connection. State of the previous one is dropped, and inputs count from 1 again.
    pub(crate) fn connect(&mut self, endpoint: ConnectionEndpoint, mirror: Mirror, seed: u64) {
        self.traffic_before = self.traffic();
        self.network = Network::new(self.order, self.conditions, seed);
        self.endpoint = Some(endpoint);
        self.mirror = mirror;
        self.received = ReceivedState::default();
        self.rejection = None;
        self.closing = None;
        self.stalled = false;
        self.recent_inputs.clear();
        self.last_input = InputSeq(0);
        self.blocked = None;
    }

    /// Drops the connection without a leave message.
    pub(crate) fn disconnect(&mut self) {
        self.endpoint = None;
    }

    pub(crate) fn set_stalled(&mut self, stalled: bool) {
        self.stalled = stalled;
    }

    pub(crate) fn set_conditions(&mut self, conditions: Conditions) {
        self.conditions = conditions;
        for network in self.network.each() {
            network.set_conditions(conditions);
        }
    }

    pub(crate) fn heal(&mut self, now: Duration) {
        self.conditions = Conditions::PERFECT;
        self.stalled = false;
        for network in self.network.each() {
            network.heal(now);
        }
    }

    /// Sends a reliable message.
    pub(crate) fn send(&mut self, now: Duration, message: &ClientMessage) {
        let stream = match self.order {
            DeliveryOrder::Ordered => &mut self.network.inputs_up,
            DeliveryOrder::Unordered => &mut self.network.stream_up,
        };
        send(stream, now, message);
    }

    pub(crate) fn next_command(&mut self) -> CommandSeq {
        self.last_command.0 += 1;
        self.last_command
    }

    /// Sends an input together with recent ones; without an input, only an acknowledgement.
    pub(crate) fn send_input(&mut self, now: Duration, input: Option<InputBytes>) {
        if !self.is_joined() {
            return;
        }
        let ack = match self.order {
            DeliveryOrder::Ordered => StateAck::NONE,
            DeliveryOrder::Unordered => self.mirror.acknowledgement(),
        };
        let Some(input) = input else {
            if self.order == DeliveryOrder::Unordered {
                send(&mut self.network.inputs_up, now, &ClientMessage::Ack(ack));
            }
            return;
        };
        self.last_input.0 += 1;
        self.recent_inputs.push_back(input);
        if self.recent_inputs.len() > INPUTS_REPEATED {
            self.recent_inputs.pop_front();
        }
        let first_seq = InputSeq(self.last_input.0 + 1 - self.recent_inputs.len() as u32);
        let payloads = self.recent_inputs.iter().map(|input| InputPayload::Packed(*input)).collect();
        let view = ViewTick { tick: self.mirror.tick(), fraction: 0 };
        send(&mut self.network.inputs_up, now, &ClientMessage::Inputs(Inputs { first_seq, payloads, ack, view }));
    }

    /// Delivers arrived messages to the room's inbox. If it is full, a stream waits and a datagram is lost.
    pub(crate) fn deliver(&mut self, now: Duration) {
        let Some(endpoint) = &self.endpoint else { return };
        let Network { inputs_up, stream_up, .. } = &mut self.network;
        if let Some(message) = self.blocked.take() {
            self.blocked = endpoint.push(message.clone()).is_err().then_some(message);
        }
        let inputs_are_a_stream = self.order == DeliveryOrder::Ordered;
        for (network, is_stream) in [(stream_up, true), (inputs_up, inputs_are_a_stream)] {
            while self.blocked.is_none()
                && let Some(frame) = network.pop(now)
            {
                match ClientMessage::decode(&frame) {
                    Ok(message) => {
                        let full = endpoint.push(message.clone()).is_err();
                        self.blocked = (full && is_stream).then_some(message);
                    }
                    Err(error) => self.received.faults.push(format!("the server cannot read a frame: {error}")),
                }
            }
        }
    }

    /// Moves the room's output for this client to the network.
    pub(crate) fn collect(&mut self, now: Duration) {
        let Some(endpoint) = self.endpoint.as_ref().filter(|_| !self.stalled) else { return };
        match endpoint.admission() {
            Some(Ok(player)) => self.player = Some(*player),
            Some(Err(rejection)) => self.rejection = Some(rejection.clone()),
            None => {}
        }
        let Network { state_down, stream_down, .. } = &mut self.network;
        let ordered = self.order == DeliveryOrder::Ordered;
        let reliable = if ordered { &mut *state_down } else { stream_down };
        while reliable.under_way() < STREAM_FRAMES_MAX
            && let Some(message) = endpoint.next_reliable()
        {
            let mut frame = Vec::new();
            message.encode(&mut frame).expect("a message of the room can be encoded");
            let bytes = frame.len();
            reliable.push(now, frame, bytes);
        }
        if !ordered || state_down.under_way() < STREAM_FRAMES_MAX {
            while let Some(packet) = endpoint.next_state() {
                let mut frame = Vec::new();
                encode_state_packet(&packet, 0, &mut frame).expect("a state packet of the room can be encoded");
                endpoint.recycle(packet);
                let bytes = frame.len();
                state_down.push(now, frame, bytes);
            }
        }
        if let Some(closing) = endpoint.closing() {
            self.closing = Some(closing.clone());
        }
    }

    /// Handles the frames that have arrived at the client.
    pub(crate) fn receive(&mut self, now: Duration) {
        if self.endpoint.is_none() {
            return;
        }
        while let Some(frame) = self.network.stream_down.pop(now) {
            self.handle_frame(&frame);
        }
        while let Some(frame) = self.network.state_down.pop(now) {
            self.handle_frame(&frame);
        }
        let Network { stream_down, state_down, .. } = &self.network;
        let ordered_is_done = self.order == DeliveryOrder::Unordered || state_down.under_way() == 0;
        if (self.closing.is_some() || self.rejection.is_some()) && stream_down.under_way() == 0 && ordered_is_done {
            self.endpoint = None;
        }
    }

    fn handle_frame(&mut self, frame: &[u8]) {
        match ServerMessage::decode(frame) {
            Ok(ServerMessage::Snapshot(Snapshot::Packed(packet))) => self.apply(&packet),
            Ok(ServerMessage::Event(event)) => self.received.events.push(event),
            Ok(ServerMessage::Possession(possession)) => self.received.possessions.push(possession),
            Ok(ServerMessage::Correction(correction)) => self.received.corrections.push(correction),
            Ok(ServerMessage::Ack(ack)) => self.received.acks.push(ack),
            Ok(ServerMessage::Cleared(cleared)) => self.received.cleared.push(cleared.tick),
            Ok(other) => self.received.faults.push(format!("the client got an unexpected message `{}`", other.name())),
            Err(error) => self.received.faults.push(format!("the client cannot read a frame: {error}")),
        }
    }

    fn apply(&mut self, packet: &[u8]) {
        match self.mirror.apply(packet) {
            Ok(applied) if applied.stale => self.received.packets_stale += 1,
            Ok(applied) => {
                self.received.packets += 1;
                let seen = self.mirror.entered().iter().map(|&entity| Sighting { tick: applied.tick, entity });
                self.received.sightings.extend(seen);
            }
            // On a stream nothing is late, so it is a fault.
            Err(ReadError::NoBaseline) if self.order == DeliveryOrder::Unordered => {
                self.received.packets_without_baseline += 1
            }
            Err(error) => self.received.faults.push(format!("the client cannot read a state packet: {error}")),
        }
    }
}

/// Builds a mirror for a schema.
pub(crate) fn mirror_of(schema: &Schema, order: DeliveryOrder, seconds_per_tick: f32) -> Mirror {
    Mirror::builder().described(schema).build(order, seconds_per_tick)
}

fn send(network: &mut Conditioner<Vec<u8>>, now: Duration, message: &ClientMessage) {
    let mut frame = Vec::new();
    message.encode(&mut frame).expect("a message of the test can be encoded");
    let bytes = frame.len();
    network.push(now, frame, bytes);
}
