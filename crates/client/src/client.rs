//! The client: messages and time in, messages and what to draw out.

use crate::event::EventQueue;
use crate::outbox::{Outbox, OutgoingMessage};
use crate::play::JoinedRoom;
use crate::session::ClientSession;
use crate::{
    ClientEvent, ClientGame, ClientPhase, ClientSchemaBuilder, ClientSettings, ClientStats, EndReason, JoinOptions,
};
use aether_bits::{BitReader, BitWriter, Component};
use aether_replication::{DeliveryOrder, Mirror};
use aether_wire::{
    ClientMessage, CommandSeq, EntityId, Event, GameBody, GameMessage, InputSeq, Reassembler, ServerMessage, Snapshot,
    Tick, Token, Welcome,
};
use std::time::Duration;

/// A client of one room at a time.
///
/// It reads no clock and opens no connection: times are durations since any fixed moment, on a clock that does not go
/// back, and whoever owns the transport says when there is a connection and when it is gone.
///
/// ```
/// use aether_bits::{BitWriter, Replicate};
/// use aether_client::{Client, ClientSchemaBuilder, ClientGame, Interpolate, JoinOptions, ClientPhase, Predict, ClientSettings};
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
///     fn moved(&self, from: &Self, to: &Self, share: f32) -> Self {
///         Runner { position: self.position.moved(&from.position, &to.position, share) }
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
///     // Most often this is a function of the game's rules crate, which the server calls too.
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
///     fn declare(&self, declaration: ClientSchemaBuilder) -> ClientSchemaBuilder {
///         declaration.component::<Runner>().input::<Steer>()
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
/// let mut client = Client::new(Race, ClientSettings::default(), JoinOptions { room: Some(room), token: None });
///
/// // The transport is open: the client says hello with the next frame.
/// client.connected(DeliveryOrder::Ordered, Duration::ZERO);
/// let hello = client.advance(Duration::ZERO).next().expect("it says hello");
/// assert!(matches!(hello.message, ClientMessage::Hello(_)));
///
/// // The server answers.
/// let schema_hash = client.schema_hash();
/// let welcome = Welcome { tick_hz: 30, snapshot_hz: 10, schema_hash, ..Welcome::default() };
/// client.receive(ServerMessage::Welcome(welcome), Duration::from_millis(40));
/// assert_eq!(*client.phase(), ClientPhase::Joined);
///
/// // Each frame: say what the player does, send what is due, draw.
/// client.set_input(Steer { push: [1.0, 0.0] });
/// for outgoing in client.advance(Duration::from_millis(56)) {
///     // transport.send(outgoing)
/// }
/// let me = client.own_state();
/// for (entity, runner) in client.remote_entities() {
///     // draw(entity, runner.position)
/// }
/// ```
pub struct Client<G: ClientGame> {
    game: G,
    settings: ClientSettings,
    session: ClientSession,
    link: DeliveryOrder,
    play: Option<JoinedRoom<G>>,
    welcome: Option<Welcome>,
    input: Option<G::Input>,
    reassembler: Reassembler,
    outbox: Outbox,
    events: EventQueue,
    last_command: CommandSeq,
    stats: ClientStats,
    frame: Vec<u8>,
    heard_at: Duration,
}

impl<G: ClientGame> Client<G> {
    /// A client that is not connected yet.
    #[must_use]
    pub fn new(game: G, settings: ClientSettings, login: JoinOptions) -> Self {
        let schema = game.declare(ClientSchemaBuilder::default()).hash();
        Client {
            session: ClientSession::new(login, schema, settings.seed),
            game,
            settings,
            link: DeliveryOrder::Ordered,
            play: None,
            welcome: None,
            input: None,
            reassembler: Reassembler::closed(),
            outbox: Outbox::default(),
            events: EventQueue::default(),
            last_command: CommandSeq(0),
            stats: ClientStats::default(),
            frame: Vec::new(),
            heard_at: Duration::ZERO,
        }
    }

    /// When to open a connection; nothing while there is one, and when it is over. Whoever still has one open when this
    /// gives a time, or when the phase is [`ClientPhase::Closed`], closes it.
    #[must_use]
    pub fn retry_at(&self) -> Option<Duration> {
        self.session.retry_at()
    }

    /// How often it was tried in vain to connect since the last success.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.session.attempts()
    }

    /// There is a connection. The hello goes out with the next [`Client::advance`].
    pub fn connected(&mut self, link: DeliveryOrder, now: Duration) {
        if self.session.is_joined() {
            // One connection follows another, as when the transport is changed: the first is over.
            self.disconnected(now);
        }
        self.heard_at = now;
        self.outbox.messages.clear();
        self.reassembler.clear();
        self.link = link;
        if let Some(hello) = self.session.connected() {
            self.send(OutgoingMessage::reliable(ClientMessage::Hello(hello)));
        }
    }

    /// The connection is gone, or could not be opened. [`Client::retry_at`] says when to try again.
    pub fn disconnected(&mut self, now: Duration) {
        let (was_joined, was_closed) = (self.session.is_joined(), self.is_closed());
        self.outbox.messages.clear();
        self.session.lost(now);
        if self.is_closed() {
            if !was_closed {
                self.tell_if_closed();
            }
        } else if was_joined {
            self.stats.disconnects += 1;
            self.happened(ClientEvent::Lost);
        }
    }

    /// Takes in a frame from the server, in protobuf. One that cannot be read is counted and dropped.
    pub fn receive_frame(&mut self, frame: &[u8], now: Duration) {
        self.stats.bytes_in += frame.len() as u64;
        match ServerMessage::decode(frame) {
            Ok(message) => self.receive(message, now),
            Err(_) => self.stats.faults += 1,
        }
    }

    /// Takes in a message from the server.
    pub fn receive(&mut self, message: ServerMessage, now: Duration) {
        self.heard_at = now;
        match message {
            ServerMessage::Fragment(part) => {
                let now_ms = now.as_millis() as u64;
                match self.reassembler.push(part, now_ms) {
                    Ok(Some(whole)) => match ServerMessage::decode(&whole) {
                        Ok(ServerMessage::Fragment(_)) | Err(_) => self.stats.faults += 1,
                        Ok(message) => self.take(message, now),
                    },
                    Ok(None) => {}
                    Err(_) => self.stats.faults += 1,
                }
            }
            message => self.take(message, now),
        }
    }

    /// Sets what the player does from now on, until it is set again. Before the first time, the client only watches.
    pub fn set_input(&mut self, input: G::Input) {
        self.input = Some(input);
    }

    /// Goes on to now, and gives what is to be sent. Call it once a frame, before drawing.
    pub fn advance(&mut self, now: Duration) -> impl Iterator<Item = OutgoingMessage> {
        self.reassembler.expire(now.as_millis() as u64);
        if let Some(play) = self.play.as_mut().filter(|_| self.session.is_joined()) {
            let about = (&self.game, &self.settings);
            play.advance(about, self.input.as_ref(), now, &mut self.outbox.messages, &mut self.stats);
        }
        self.outbox.messages.drain(..)
    }

    /// As [`Client::advance`], but gives frames in protobuf, each with whether it is reliable.
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

    /// The own entity as it is to be drawn: predicted, with corrections faded. Nothing while the player steers nothing.
    #[must_use]
    pub fn own_state(&self) -> Option<G::State> {
        let play = self.play.as_ref()?;
        play.own.shown(&self.settings, &play.timing)
    }

    /// The own entity after all inputs, exactly as the rules say.
    #[must_use]
    pub fn predicted_state(&self) -> Option<&G::State> {
        self.play.as_ref()?.own.predicted()
    }

    /// The entity that the player steers.
    #[must_use]
    pub fn own_entity(&self) -> Option<EntityId> {
        self.play.as_ref()?.own.entity()
    }

    /// All other entities as they are to be drawn.
    pub fn remote_entities(&self) -> impl Iterator<Item = (EntityId, G::Remote)> {
        self.play.iter().flat_map(|play| play.others.shown(play.own.entity(), play.timing.sampling(&self.settings)))
    }

    /// All entities as they are to be drawn, the own one as if it were another's: for games that predict only a part of it,
    /// or nothing.
    pub fn entities(&self) -> impl Iterator<Item = (EntityId, G::Remote)> {
        self.play.iter().flat_map(|play| play.others.shown(None, play.timing.sampling(&self.settings)))
    }

    /// One entity as it is to be drawn, as if it were another's.
    #[must_use]
    pub fn entity(&self, entity: EntityId) -> Option<G::Remote> {
        let play = self.play.as_ref()?;
        play.others.one(entity, &play.timing.sampling(&self.settings))
    }

    /// What happened since the last time.
    pub fn events(&mut self) -> impl Iterator<Item = ClientEvent> {
        self.events.drain()
    }

    /// One of the game's events, if it is of this type.
    #[must_use]
    pub fn read_event<E: Component>(&self, event: &Event) -> Option<E> {
        let GameBody::Packed { code, payload } = &event.body else { return None };
        if self.code_of::<E>()? != *code {
            return None;
        }
        E::read_full(&mut BitReader::new(payload)).ok()
    }

    /// Says something to the game. The answer comes as [`ClientEvent::Answer`] with the same number. Nothing if the game
    /// does not declare such a message, or the client is not in a room.
    pub fn send_message<E: Component>(&mut self, message: &E) -> Option<CommandSeq> {
        let code = self.code_of::<E>()?;
        let mut writer = BitWriter::new();
        message.write_full(&mut writer);
        let body = GameBody::Packed { code, payload: writer.to_bytes() };
        self.send_command(|seq| ClientMessage::Game(GameMessage { seq, body }))
    }

    /// Sends any command, given its number. Nothing if the client is not in a room, or too much waits already.
    pub fn send_command(&mut self, command: impl FnOnce(CommandSeq) -> ClientMessage) -> Option<CommandSeq> {
        if !self.session.is_joined() || self.outbox.is_full() {
            return None;
        }
        self.last_command = CommandSeq(self.last_command.0.wrapping_add(1).max(1));
        let seq = self.last_command;
        self.send(OutgoingMessage::reliable(command(seq)));
        Some(seq)
    }

    /// Leaves the room for good. What [`Client::advance`] gives once more still has to be sent.
    pub fn leave(&mut self) {
        if self.session.is_joined() {
            self.send(OutgoingMessage::reliable(ClientMessage::Leave));
        }
        self.end(EndReason::Left);
    }

    /// For how long nothing has come, since there is a connection. The client asks for pongs twice a second: after some
    /// seconds of silence the connection is dead, whatever the transport says.
    #[must_use]
    pub fn silence(&self, now: Duration) -> Duration {
        now.saturating_sub(self.heard_at)
    }

    /// Where the client stands.
    #[must_use]
    pub fn phase(&self) -> &ClientPhase {
        self.session.phase()
    }

    /// A new access token, for when the old one has run out before the next hello.
    pub fn set_token(&mut self, token: Option<Token>) {
        self.session.set_token(token);
    }

    /// What the server said of the room when it let the client in the last time.
    #[must_use]
    pub fn welcome(&self) -> Option<&Welcome> {
        self.welcome.as_ref()
    }

    /// The tick that the client plays: ahead of the server's.
    #[must_use]
    pub fn tick(&self) -> Tick {
        self.play.as_ref().map_or(Tick::ZERO, JoinedRoom::tick)
    }

    /// The number of the newest input on this connection.
    #[must_use]
    pub fn last_input(&self) -> InputSeq {
        self.play.as_ref().map_or(InputSeq(0), |play| play.own.history.last())
    }

    /// The copy of the world, as new as it is; for what is not drawn, such as scores and names.
    #[must_use]
    pub fn mirror(&self) -> Option<&Mirror> {
        self.play.as_ref()?.mirror.as_ref()
    }

    /// The game.
    #[must_use]
    pub fn game(&self) -> &G {
        &self.game
    }

    /// The game, to be changed.
    pub fn game_mut(&mut self) -> &mut G {
        &mut self.game
    }

    /// The number of what the game declares.
    #[must_use]
    pub fn schema_hash(&self) -> aether_wire::SchemaHash {
        self.game.declare(ClientSchemaBuilder::default()).hash()
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &ClientSettings {
        &self.settings
    }

    /// The settings, to be changed.
    pub fn settings_mut(&mut self) -> &mut ClientSettings {
        &mut self.settings
    }

    /// How it is doing.
    #[must_use]
    pub fn stats(&self) -> ClientStats {
        let mut stats = self.stats.clone();
        if let Some(play) = &self.play {
            play.fill(&self.settings, &mut stats);
        }
        stats
    }

    fn take(&mut self, message: ServerMessage, now: Duration) {
        match message {
            ServerMessage::Welcome(welcome) => self.welcomed(welcome, now),
            ServerMessage::Error(notice) => {
                self.happened(ClientEvent::Error(notice.clone()));
                if !self.session.is_joined() {
                    let hello = self.session.refused(&notice, now);
                    // After a fatal error the server closes; otherwise it waits for a better hello.
                    if let Some(hello) = hello.filter(|_| !notice.fatal) {
                        self.send(OutgoingMessage::reliable(ClientMessage::Hello(hello)));
                    }
                    self.tell_if_closed();
                }
            }
            ServerMessage::Closing(closing) => {
                self.session.closing(&closing);
                self.happened(ClientEvent::Closing(closing));
            }
            message if self.session.is_joined() => self.take_inside(message, now),
            // Datagrams may overtake the welcome. They are not acknowledged, so what they carried comes again.
            _ => self.stats.packets_late += 1,
        }
    }

    fn take_inside(&mut self, message: ServerMessage, now: Duration) {
        let Some(play) = &mut self.play else { return };
        match message {
            ServerMessage::Snapshot(Snapshot::Packed(packet)) => self.take_state(&packet, now),
            ServerMessage::Snapshot(Snapshot::Readable(_)) => self.stats.faults += 1,
            ServerMessage::Possession(possession) => {
                play.possess(possession);
                self.happened(ClientEvent::Possession(possession));
            }
            ServerMessage::Cleared(cleared) => {
                play.own.release();
                self.happened(ClientEvent::Cleared(cleared.tick));
            }
            ServerMessage::Pong(pong) => {
                // One that is not waited for may have come twice.
                let _ = play.timing.round_trip.pong(&pong, now);
            }
            ServerMessage::Schema(bytes) => match play.learn(&mut self.game, &bytes) {
                Ok(waiting) => waiting.iter().for_each(|packet| self.take_state(packet, now)),
                Err(ended) => self.end(ended),
            },
            ServerMessage::Event(event) => self.happened(ClientEvent::Game(event)),
            ServerMessage::Ack(ack) => self.happened(ClientEvent::Answer(ack)),
            ServerMessage::Correction(correction) => self.happened(ClientEvent::Correction(correction)),
            ServerMessage::Manifest(manifest) => self.happened(ClientEvent::Manifest(manifest)),
            // The packets tell who comes into view and leaves it; the others were taken before.
            _ => {}
        }
    }

    fn take_state(&mut self, packet: &[u8], now: Duration) {
        let Some(play) = &mut self.play else { return };
        if let Err(ended) = play.take((&mut self.game, &self.settings), packet, now, &mut self.stats) {
            self.end(ended);
        }
    }

    /// Everything that is numbered or remembered per connection begins anew.
    fn welcomed(&mut self, welcome: Welcome, now: Duration) {
        if self.session.is_joined() || self.session.retry_at().is_some() {
            self.stats.faults += 1;
            return;
        }
        self.game.reset();
        let play = match JoinedRoom::new(&welcome, self.link, (&self.game, &self.settings), now) {
            Ok(play) => play,
            Err(ended) => return self.end(ended),
        };
        let resumed = self.session.welcomed(&welcome);
        self.reassembler.open();
        if play.lacks_schema() {
            self.send(OutgoingMessage::reliable(ClientMessage::SchemaRequest));
        }
        self.play = Some(play);
        self.welcome = Some(welcome.clone());
        self.happened(ClientEvent::Joined { welcome: Box::new(welcome), resumed });
    }

    fn code_of<E: Component>(&self) -> Option<u16> {
        let events = &self.play.as_ref()?.schema.events;
        events.iter().position(|event| event.name == E::NAME).map(|code| code as u16)
    }

    fn send(&mut self, outgoing: OutgoingMessage) {
        self.stats.faults += u64::from(!self.outbox.send(outgoing));
    }

    fn end(&mut self, ended: EndReason) {
        if !self.is_closed() {
            self.session.close(ended);
            self.tell_if_closed();
        }
    }

    fn is_closed(&self) -> bool {
        matches!(self.session.phase(), ClientPhase::Closed(_))
    }

    fn tell_if_closed(&mut self) {
        if let ClientPhase::Closed(ended) = self.session.phase() {
            self.happened(ClientEvent::Closed(ended.clone()));
        }
    }

    fn happened(&mut self, event: ClientEvent) {
        self.stats.events_dropped += u64::from(!self.events.push(event));
    }
}
