//! State machine of a client: takes messages and time, returns messages to send and states to draw.

use crate::event::EventQueue;
use crate::joined_room::JoinedRoom;
use crate::outbox::{Outbox, OutgoingMessage};
use crate::round_trip::stamp;
use crate::session::ClientSession;
use crate::{
    ClientEvent, ClientGame, ClientPhase, ClientSchemaBuilder, ClientSettings, ClientStats, EndReason, JoinOptions,
};
use aether_bits::{BitReader, BitWriter, Component};
use aether_replication::{DeliveryOrder, Mirror};
use aether_wire::{
    ClientMessage, CommandSeq, EntityId, ErrorCode, ErrorNotice, Event, GameBody, GameMessage, InputSeq, MovementDelta,
    Reassembler, ServerMessage, Snapshot, Tick, Token, Welcome,
};
use std::time::Duration;

/// Client of one room at a time.
///
/// It reads no clock and opens no connection. Times are durations since a fixed moment on a monotonic clock. The owner
/// of the transport reports when a connection opens and when it is lost.
///
/// ```
/// use aether_bits::{BitWriter, Replicate};
/// use aether_client::{
///     Client, ClientGame, ClientPhase, ClientSchemaBuilder, ClientSettings, Interpolate, JoinOptions, Predict,
/// };
/// use aether_replication::{DeliveryOrder, Mirror};
/// use aether_wire::{ClientMessage, EntityId, RoomSelector, ServerMessage, Welcome};
/// use std::time::Duration;
///
/// #[derive(Clone, Replicate)]
/// #[replicate(channel = "movement", position = position)]
/// struct Runner {
///     #[replicate(range = -100.0..=100.0, step = 0.01)]
///     position: [f32; 2],
/// }
///
/// #[derive(Clone, Replicate)]
/// struct Steer {
///     #[replicate(range = -1.0..=1.0, step = 0.01)]
///     push: [f32; 2],
/// }
///
/// impl Interpolate for Runner {
///     fn moved(&self, from: &Self, to: &Self, fraction: f32) -> Self {
///         Runner { position: self.position.moved(&from.position, &to.position, fraction) }
///     }
///     fn distance(&self, other: &Self) -> f32 {
///         self.position.distance(&other.position)
///     }
/// }
///
/// struct Race;
///
/// impl Predict for Race {
///     type State = Runner;
///     type Input = Steer;
///     // Usually a function of the game's rules crate that the server calls too.
///     fn step(&self, runner: &mut Runner, input: &Steer, seconds: f32) {
///         runner.position = [0, 1].map(|axis| runner.position[axis] + input.push[axis] * 12.0 * seconds);
///     }
///     fn snap(&self, runner: &mut Runner) {
///         Replicate::snap(runner);
///     }
///     fn is_same(&self, a: &Runner, b: &Runner) -> bool {
///         Replicate::same(a, b)
///     }
/// }
///
/// impl ClientGame for Race {
///     type Remote = Runner;
///     fn declare(&self, schema: ClientSchemaBuilder) -> ClientSchemaBuilder {
///         schema.component::<Runner>().input::<Steer>()
///     }
///     fn pack_input(&self, input: &Steer, writer: &mut BitWriter) {
///         input.write_full(writer);
///     }
///     fn own_state(&self, mirror: &Mirror, entity: EntityId) -> Option<Runner> {
///         mirror.get::<Runner>(entity).cloned()
///     }
///     fn remote_state(&self, mirror: &Mirror, entity: EntityId) -> Option<Runner> {
///         mirror.get::<Runner>(entity).cloned()
///     }
/// }
///
/// let room = RoomSelector::Type { name: "race".to_owned(), label: None };
/// let mut client = Client::new(Race, ClientSettings::default(), JoinOptions { room: Some(room), ..JoinOptions::default() });
///
/// // The transport is open: the next frame sends the hello.
/// client.connected(DeliveryOrder::Ordered, Duration::ZERO);
/// let hello = client.advance(Duration::ZERO).next().expect("a hello");
/// assert!(matches!(hello.message, ClientMessage::Hello(_)));
///
/// // The server answers.
/// let schema_hash = client.schema_hash();
/// let welcome = Welcome { tick_hz: 30, snapshot_hz: 10, schema_hash, ..Welcome::default() };
/// client.receive(ServerMessage::Welcome(welcome), Duration::from_millis(40));
/// assert_eq!(*client.phase(), ClientPhase::Joined);
///
/// // Each frame: set the input, send what is due, draw.
/// client.set_input(Steer { push: [1.0, 0.0] });
/// for outgoing in client.advance(Duration::from_millis(56)) {
///     // transport.send(outgoing)
/// }
/// let own = client.own_state();
/// for (entity, runner) in client.remote_entities() {
///     // draw(entity, runner.position)
/// }
/// ```
pub struct Client<G: ClientGame> {
    game: G,
    settings: ClientSettings,
    session: ClientSession,
    delivery_order: DeliveryOrder,
    room: Option<JoinedRoom<G>>,
    welcome: Option<Welcome>,
    input: Option<G::Input>,
    reassembler: Reassembler,
    outbox: Outbox,
    events: EventQueue,
    last_command: CommandSeq,
    stats: ClientStats,
    frame: Vec<u8>,
    received_at: Duration,
}

impl<G: ClientGame> Client<G> {
    /// Creates a client that is not connected yet.
    #[must_use]
    pub fn new(game: G, settings: ClientSettings, join_options: JoinOptions) -> Self {
        let schema = game.declare(ClientSchemaBuilder::default()).hash();
        Client {
            session: ClientSession::new(join_options, schema, settings.seed),
            game,
            settings,
            delivery_order: DeliveryOrder::Ordered,
            room: None,
            welcome: None,
            input: None,
            reassembler: Reassembler::closed(),
            outbox: Outbox::default(),
            events: EventQueue::default(),
            last_command: CommandSeq(0),
            stats: ClientStats::default(),
            frame: Vec::new(),
            received_at: Duration::ZERO,
        }
    }

    /// Time at which to open a connection. `None` while a connection is open or the client is closed. If a connection
    /// is still open when this returns a time or the phase is [`ClientPhase::Closed`], the caller closes it.
    #[must_use]
    pub fn retry_at(&self) -> Option<Duration> {
        self.session.retry_at()
    }

    /// Token that the next hello sends: the resume token if there is one, otherwise the access token. Transports that
    /// check the account before the hello need it.
    #[must_use]
    pub fn hello_token(&self) -> Option<&Token> {
        self.session.hello_token()
    }

    /// Number of failed attempts to connect since the last success.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.session.attempts()
    }

    /// Handles an opened connection. The next [`Client::advance`] returns the hello.
    pub fn connected(&mut self, delivery_order: DeliveryOrder, now: Duration) {
        if self.session.is_joined() {
            // The new connection replaces the old one, as when the transport is switched.
            self.disconnected(now);
        }
        self.received_at = now;
        self.outbox.messages.clear();
        self.reassembler.clear();
        self.delivery_order = delivery_order;
        let Some(hello) = self.session.handle_connected() else { return };
        match hello.check() {
            Ok(()) => self.send(OutgoingMessage::reliable(ClientMessage::Hello(hello))),
            Err(error) => {
                let (code, message) = (ErrorCode::BadMessage, error.to_string());
                self.end(EndReason::JoinRejected(ErrorNotice { code, message, fatal: true }));
            }
        }
    }

    /// Handles a connection that was lost or could not be opened. [`Client::retry_at`] returns when to try again.
    pub fn disconnected(&mut self, now: Duration) {
        let (was_joined, was_closed) = (self.session.is_joined(), self.is_closed());
        self.outbox.messages.clear();
        self.session.handle_disconnected(now);
        if self.is_closed() {
            if !was_closed {
                self.push_closed_event();
            }
        } else if was_joined {
            self.stats.disconnects += 1;
            self.push_event(ClientEvent::Lost);
        }
    }

    /// Handles a protobuf frame from the server. A frame that cannot be decoded is counted and dropped.
    pub fn receive_frame(&mut self, frame: &[u8], now: Duration) {
        self.stats.bytes_in += frame.len() as u64;
        match ServerMessage::decode(frame) {
            Ok(message) => self.receive(message, now),
            Err(_) => self.stats.faults += 1,
        }
    }

    /// Handles a message from the server. State that overtook events of its tick waits for them, for at most
    /// [`ClientSettings::event_wait_max`].
    pub fn receive(&mut self, message: ServerMessage, now: Duration) {
        self.received_at = now;
        match message {
            ServerMessage::Fragment(part) => {
                let now_ms = now.as_millis() as u64;
                match self.reassembler.push(part, now_ms) {
                    Ok(Some(whole)) => match ServerMessage::decode(&whole) {
                        Ok(ServerMessage::Fragment(_)) | Err(_) => self.stats.faults += 1,
                        Ok(message) => self.handle_message(message, now),
                    },
                    Ok(None) => {}
                    Err(_) => self.stats.faults += 1,
                }
            }
            message => self.handle_message(message, now),
        }
    }

    /// Sets the input of the player until the next call. Until the first call the client sends no inputs.
    pub fn set_input(&mut self, input: G::Input) {
        self.input = Some(input);
    }

    /// Advances to `now` and returns the messages to send. Call it once per frame, before drawing.
    pub fn advance(&mut self, now: Duration) -> impl Iterator<Item = OutgoingMessage> {
        self.reassembler.expire(now.as_millis() as u64);
        self.release_state(now);
        if let Some(room) = self.room.as_mut().filter(|_| self.session.is_joined()) {
            let context = (&self.game, &self.settings);
            room.advance(context, self.input.as_ref(), now, &mut self.outbox.messages, &mut self.stats);
        }
        self.outbox.messages.drain(..)
    }

    /// Like [`Client::advance`], but passes protobuf frames to `send`, each with a flag that is true if it is reliable.
    pub fn advance_frames(&mut self, now: Duration, mut send: impl FnMut(&[u8], bool)) {
        let mut frame = std::mem::take(&mut self.frame);
        let (mut bytes, mut faults) = (0, 0);
        for OutgoingMessage { message, reliable } in self.advance(now) {
            frame.clear();
            match message.encode(&mut frame) {
                Ok(()) => send(&frame, reliable),
                Err(_) => faults += 1,
            }
            bytes += frame.len() as u64;
        }
        self.frame = frame;
        self.stats.bytes_out += bytes;
        self.stats.faults += faults;
    }

    /// State of the own entity to draw: predicted, with corrections smoothed. `None` while the player possesses
    /// nothing.
    #[must_use]
    pub fn own_state(&self) -> Option<G::State> {
        let room = self.room.as_ref()?;
        room.own_entity.displayed(&self.settings, &room.timing)
    }

    /// Predicted state of the own entity after all inputs, without smoothing.
    #[must_use]
    pub fn predicted_state(&self) -> Option<&G::State> {
        self.room.as_ref()?.own_entity.predicted()
    }

    /// Entity that the player possesses.
    #[must_use]
    pub fn own_entity(&self) -> Option<EntityId> {
        self.room.as_ref()?.own_entity.entity()
    }

    /// States of all remote entities to draw.
    pub fn remote_entities(&self) -> impl Iterator<Item = (EntityId, G::Remote)> {
        self.room.iter().flat_map(|room| {
            room.remote_entities.displayed(room.own_entity.entity(), room.timing.sampling(&self.settings))
        })
    }

    /// States of all entities to draw, the own entity as if it were remote. For games that predict only a part of it,
    /// or nothing.
    pub fn entities(&self) -> impl Iterator<Item = (EntityId, G::Remote)> {
        self.room.iter().flat_map(|room| room.remote_entities.displayed(None, room.timing.sampling(&self.settings)))
    }

    /// State of one entity to draw, as if it were remote.
    #[must_use]
    pub fn entity(&self, entity: EntityId) -> Option<G::Remote> {
        let room = self.room.as_ref()?;
        room.remote_entities.sample(entity, &room.timing.sampling(&self.settings))
    }

    /// Removes and returns the events since the last call.
    pub fn events(&mut self) -> impl Iterator<Item = ClientEvent> {
        self.events.drain()
    }

    /// Unpacks an event of the game. `None` if it is of another type.
    #[must_use]
    pub fn read_event<E: Component>(&self, event: &Event) -> Option<E> {
        let GameBody::Packed { code, payload } = &event.body else { return None };
        if self.event_code::<E>()? != *code {
            return None;
        }
        E::read_full(&mut BitReader::new(payload)).ok()
    }

    /// Sends a message to the game. The answer arrives as [`ClientEvent::Answer`] with the returned number. `None` if
    /// the game does not declare this message or the client has not joined a room.
    pub fn send_message<E: Component>(&mut self, message: &E) -> Option<CommandSeq> {
        let code = self.event_code::<E>()?;
        let mut writer = BitWriter::new();
        message.write_full(&mut writer);
        let body = GameBody::Packed { code, payload: writer.to_bytes() };
        self.send_command(|seq| ClientMessage::Game(GameMessage { seq, body }))
    }

    /// Sends any command, built from its number. `None` if the client has not joined a room or the outbox is full.
    pub fn send_command(&mut self, command: impl FnOnce(CommandSeq) -> ClientMessage) -> Option<CommandSeq> {
        if !self.session.is_joined() || self.outbox.is_full() {
            return None;
        }
        self.last_command = CommandSeq(self.last_command.0.wrapping_add(1).max(1));
        let seq = self.last_command;
        self.send(OutgoingMessage::reliable(command(seq)));
        Some(seq)
    }

    /// Proposes to move the own entity by a distance, for a game that accepts movement (`Game::movement`). Returns the
    /// number of the movement: the server has applied it when the acknowledged input reaches it. If the movement breaks
    /// the rules of the game, [`ClientEvent::Correction`] has the true position. `None` if the client has no entity, the
    /// outbox is full or the distance is not finite.
    pub fn move_by(&mut self, [dx, dy]: [f32; 2], now: Duration) -> Option<InputSeq> {
        if !self.session.is_joined() || self.outbox.is_full() {
            return None;
        }
        let own_entity = &mut self.room.as_mut()?.own_entity;
        let entity = own_entity.entity()?;
        let seq = InputSeq(own_entity.history.last().0.saturating_add(1));
        let movement = MovementDelta { entity, seq, dx, dy, client_time: stamp(now) };
        if !self.outbox.send(OutgoingMessage::unreliable(ClientMessage::MovementDelta(movement))) {
            return None;
        }
        Some(own_entity.history.take_number())
    }

    /// Leaves the room and closes the client. Send what the next [`Client::advance`] returns: it contains the leave
    /// message.
    pub fn leave(&mut self) {
        if self.session.is_joined() {
            self.send(OutgoingMessage::reliable(ClientMessage::Leave));
        }
        self.end(EndReason::Left);
    }

    /// Time since the last message, or since the connection opened. The client sends two pings per second, so a
    /// connection that is silent for some seconds is dead, whatever the transport reports.
    #[must_use]
    pub fn silence(&self, now: Duration) -> Duration {
        now.saturating_sub(self.received_at)
    }

    /// Phase of the client.
    #[must_use]
    pub fn phase(&self) -> &ClientPhase {
        self.session.phase()
    }

    /// Sets the access token of the next hello, for when the old one has expired.
    pub fn set_token(&mut self, token: Option<Token>) {
        self.session.set_token(token);
    }

    /// Sets whether the owner can get another access token after the server rejected one. If so, the client connects
    /// again, once, instead of closing; [`Client::needs_fresh_token`] is then true until the next
    /// [`Client::set_token`]. Default false.
    pub fn set_renews_token(&mut self, renews_token: bool) {
        self.session.set_renews_token(renews_token);
    }

    /// Returns true if the server rejected the last access token and the client waits for another one.
    #[must_use]
    pub fn needs_fresh_token(&self) -> bool {
        self.session.needs_fresh_token()
    }

    /// Last welcome that the server sent.
    #[must_use]
    pub fn welcome(&self) -> Option<&Welcome> {
        self.welcome.as_ref()
    }

    /// Current tick of the client. It is ahead of the server's.
    #[must_use]
    pub fn tick(&self) -> Tick {
        self.room.as_ref().map_or(Tick::ZERO, JoinedRoom::tick)
    }

    /// Number of the newest input on this connection.
    #[must_use]
    pub fn last_input(&self) -> InputSeq {
        self.room.as_ref().map_or(InputSeq(0), |room| room.own_entity.history.last())
    }

    /// Latest known state of the world, for values that are not drawn over time, such as scores and names.
    #[must_use]
    pub fn mirror(&self) -> Option<&Mirror> {
        self.room.as_ref()?.mirror.as_ref()
    }

    /// Game of this client.
    #[must_use]
    pub fn game(&self) -> &G {
        &self.game
    }

    /// Game of this client, mutable.
    pub fn game_mut(&mut self) -> &mut G {
        &mut self.game
    }

    /// Hash of the schema that the game declares.
    #[must_use]
    pub fn schema_hash(&self) -> aether_wire::SchemaHash {
        self.game.declare(ClientSchemaBuilder::default()).hash()
    }

    /// Settings of the client.
    #[must_use]
    pub fn settings(&self) -> &ClientSettings {
        &self.settings
    }

    /// Settings of the client, mutable. Changes apply at once.
    pub fn settings_mut(&mut self) -> &mut ClientSettings {
        &mut self.settings
    }

    /// Current statistics.
    #[must_use]
    pub fn stats(&self) -> ClientStats {
        let mut stats = self.stats.clone();
        if let Some(room) = &self.room {
            room.fill_stats(&self.settings, &mut stats);
        }
        stats
    }

    fn handle_message(&mut self, message: ServerMessage, now: Duration) {
        match message {
            ServerMessage::Welcome(welcome) => self.handle_welcome(welcome, now),
            ServerMessage::Error(notice) => {
                self.push_event(ClientEvent::Error(notice.clone()));
                if !self.session.is_joined() {
                    let hello = self.session.handle_rejection(&notice, now);
                    // After a fatal error the server closes the connection; otherwise it accepts another hello.
                    if let Some(hello) = hello.filter(|_| !notice.fatal) {
                        self.send(OutgoingMessage::reliable(ClientMessage::Hello(hello)));
                    }
                    self.push_closed_event();
                }
            }
            ServerMessage::Closing(closing) => {
                self.session.handle_closing(&closing);
                self.push_event(ClientEvent::Closing(closing));
            }
            message if self.session.is_joined() => self.handle_room_message(message, now),
            // Datagrams may overtake the welcome. They are not acknowledged, so their contents are sent again.
            _ => self.stats.packets_late += 1,
        }
    }

    fn handle_room_message(&mut self, message: ServerMessage, now: Duration) {
        let Some(room) = &mut self.room else { return };
        if message.is_tick_message() {
            room.held_state.handle_tick_message();
        }
        match message {
            ServerMessage::Snapshot(Snapshot::Packed(packet)) => {
                match room.held_state.offer(packet, now, self.settings.event_wait_max) {
                    Some(packet) => self.handle_state_packet(&packet, now),
                    None => self.stats.packets_held += 1,
                }
            }
            ServerMessage::Snapshot(Snapshot::Readable(_)) => self.stats.faults += 1,
            ServerMessage::Possession(possession) => {
                room.possess(possession);
                self.push_event(ClientEvent::Possession(possession));
            }
            ServerMessage::Cleared(cleared) => {
                room.own_entity.release();
                self.push_event(ClientEvent::Cleared(cleared.tick));
            }
            ServerMessage::Pong(pong) => room.timing.handle_pong(&pong, now),
            ServerMessage::Schema(bytes) => match room.handle_schema(&mut self.game, &bytes) {
                Ok(waiting) => waiting.iter().for_each(|packet| self.handle_state_packet(packet, now)),
                Err(reason) => self.end(reason),
            },
            ServerMessage::Event(event) => self.push_event(ClientEvent::Game(event)),
            ServerMessage::Ack(ack) => self.push_event(ClientEvent::Answer(ack)),
            ServerMessage::Correction(correction) => self.push_event(ClientEvent::Correction(correction)),
            ServerMessage::Manifest(manifest) => self.push_event(ClientEvent::Manifest(manifest)),
            // The other messages are handled above.
            _ => {}
        }
        self.release_state(now);
    }

    /// Applies the state packets that need not wait any longer, as if they were handled when they arrived.
    fn release_state(&mut self, now: Duration) {
        while let Some(room) = self.room.as_mut().filter(|_| self.session.is_joined())
            && let Some((packet, arrived_at)) = room.held_state.release(now, self.settings.event_wait_max)
        {
            self.handle_state_packet(&packet, arrived_at);
        }
    }

    fn handle_state_packet(&mut self, packet: &[u8], now: Duration) {
        let Some(room) = &mut self.room else { return };
        match room.handle_packet((&mut self.game, &self.settings), packet, now, &mut self.stats) {
            Ok(Some(tick)) => self.report_view_changes(tick),
            Ok(None) => {}
            Err(reason) => self.end(reason),
        }
    }

    /// Reports the entities that left and entered with the last packet, in the order of their slots.
    fn report_view_changes(&mut self, tick: Tick) {
        let Some(mirror) = self.room.as_ref().and_then(|room| room.mirror.as_ref()) else { return };
        let left = mirror.left().iter().map(|&entity| ClientEvent::EntityLeft { tick, entity });
        let entered = mirror.entered().iter().map(|&entity| ClientEvent::EntityEntered { tick, entity });
        for event in left.chain(entered) {
            self.stats.events_dropped += u64::from(!self.events.push(event));
        }
    }

    /// Resets all state that belongs to one connection.
    fn handle_welcome(&mut self, welcome: Welcome, now: Duration) {
        if self.session.is_joined() || self.session.retry_at().is_some() {
            self.stats.faults += 1;
            return;
        }
        self.game.reset();
        let room = match JoinedRoom::new(&welcome, self.delivery_order, (&self.game, &self.settings), now) {
            Ok(room) => room,
            Err(reason) => return self.end(reason),
        };
        let resumed = self.session.handle_welcome(&welcome);
        self.reassembler.open();
        if room.lacks_schema() {
            self.send(OutgoingMessage::reliable(ClientMessage::SchemaRequest));
        }
        self.room = Some(room);
        self.welcome = Some(welcome.clone());
        self.push_event(ClientEvent::Joined { welcome: Box::new(welcome), resumed });
    }

    fn event_code<E: Component>(&self) -> Option<u16> {
        let events = &self.room.as_ref()?.schema.events;
        events.iter().position(|event| event.name == E::NAME).map(|code| code as u16)
    }

    fn send(&mut self, outgoing: OutgoingMessage) {
        self.stats.faults += u64::from(!self.outbox.send(outgoing));
    }

    fn end(&mut self, reason: EndReason) {
        if !self.is_closed() {
            self.session.close(reason);
            self.push_closed_event();
        }
    }

    fn is_closed(&self) -> bool {
        matches!(self.session.phase(), ClientPhase::Closed(_))
    }

    fn push_closed_event(&mut self) {
        if let ClientPhase::Closed(reason) = self.session.phase() {
            self.push_event(ClientEvent::Closed(reason.clone()));
        }
    }

    fn push_event(&mut self, event: ClientEvent) {
        self.stats.events_dropped += u64::from(!self.events.push(event));
    }
}
