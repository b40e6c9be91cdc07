//! What a client who is in says.

use super::End;
use crate::counters::kind_in;
use crate::gateway::Gateway;
use crate::lobby::{Entrance, Place, Standing};
use crate::readable::{Readable, Unpackable};
use crate::transport::{Path, Received};
use aether_limits::{Bucket, Rate};
use aether_wire::limits::{FRAGMENTS_PER_MESSAGE_MAX, TEXT_BYTES_MAX};
use aether_wire::{
    Ack, ClientMessage, CloseReason, CommandError, CommandSeq, DecodeError, Encoding, ErrorCode, ErrorNotice, GameBody,
    GameMessage, Inputs, Ping, Pong, Reassembler, ServerMessage, Tick,
};
use std::time::Duration;

/// A client whose messages are dropped this often, less a few each second, is closed.
const STRIKES_MAX: u32 = 256;
/// Strikes that are forgiven each second.
const STRIKES_FORGIVEN: u32 = 32;
/// A message that cannot be read counts for so many: an honest client sends none.
const STRIKES_UNREADABLE: u32 = 32;
/// How often parts of a message may come: a whole message at once, and one each two seconds.
const FRAGMENTS: Rate =
    Rate { per_second: FRAGMENTS_PER_MESSAGE_MAX as u32 / 2, burst: FRAGMENTS_PER_MESSAGE_MAX as u32 };
/// How often a relay member may speak: as often as inputs may come in a room of 60 ticks a second.
const RELAY_TICK_HZ: u32 = 60;

/// Hears one client: decodes, limits, answers what concerns the connection, and hands the rest to the room.
pub(super) struct Inbound<'a> {
    gateway: &'a Gateway,
    encoding: Encoding,
    inputs: Bucket,
    others: Bucket,
    fragments: Bucket,
    strikes: u32,
    reassembler: Reassembler,
    /// Answers that wait to be written.
    pub answers: Vec<(Path, ServerMessage)>,
    /// Set when the connection is to end.
    pub end: Option<End>,
    pub heard_at: Duration,
    /// Whether the client said anything yet.
    spoke: bool,
    /// Whether the client sent anything since the session was last looked at.
    active: bool,
    session_epoch: u64,
}

impl<'a> Inbound<'a> {
    pub fn new(gateway: &'a Gateway, encoding: Encoding, entrance: &Entrance) -> Inbound<'a> {
        let now = gateway.now();
        let tick_hz = match &entrance.place {
            Place::Room { room, .. } => room.settings().tick_hz,
            Place::Relay(_) => RELAY_TICK_HZ,
        };
        let mut reassembler = Reassembler::closed();
        reassembler.open();
        Inbound {
            gateway,
            encoding,
            inputs: Bucket::new(Rate::inputs(tick_hz), now),
            others: Bucket::new(gateway.settings.rate, now),
            fragments: Bucket::new(FRAGMENTS, now),
            strikes: 0,
            reassembler,
            answers: Vec::new(),
            end: None,
            heard_at: now,
            spoke: false,
            active: true,
            session_epoch: gateway.lobby.sessions().epoch(),
        }
    }

    /// Takes in one thing that came.
    pub fn receive(&mut self, now: Duration, received: Received<'_>, place: &Inside<'_>) {
        if self.end.is_some() {
            return;
        }
        self.heard_at = now;
        self.active = true;
        let Received::Message(bytes) = received else {
            if !self.others.take(now) {
                self.strike(1);
            }
            return;
        };
        self.check_session(place.entrance);
        if self.end.is_some() {
            return;
        }
        if !std::mem::replace(&mut self.spoke, true) {
            self.gateway.lobby.heard(place.entrance);
        }
        self.gateway.counters.bytes_in.add(bytes.len() as u64);
        match self.encoding.decode(bytes) {
            Ok(message) => self.message(now, message, place),
            Err(error) => self.unreadable(&error),
        }
    }

    /// What is due each second.
    pub fn each_second(&mut self, now: Duration, entrance: &Entrance) {
        self.strikes = self.strikes.saturating_sub(STRIKES_FORGIVEN);
        self.reassembler.expire(now.as_millis() as u64);
        let active = std::mem::replace(&mut self.active, false);
        if self.gateway.lobby.sessions().standing(entrance.session, active) == Standing::Ended {
            self.end.get_or_insert_with(|| End::told(CloseReason::SessionEnded));
        }
    }

    /// On each message one load tells whether any session was revoked since the last time.
    fn check_session(&mut self, entrance: &Entrance) {
        let sessions = self.gateway.lobby.sessions();
        let epoch = sessions.epoch();
        if epoch != self.session_epoch {
            self.session_epoch = epoch;
            if sessions.standing(entrance.session, true) == Standing::Ended {
                self.end.get_or_insert_with(|| End::told(CloseReason::SessionEnded));
            }
        }
    }

    fn message(&mut self, now: Duration, message: ClientMessage, place: &Inside<'_>) {
        let counters = &self.gateway.counters;
        counters.packets_in[kind_in(&message)].inc();
        let bucket = match &message {
            ClientMessage::Inputs(_) | ClientMessage::Ack(_) | ClientMessage::MovementDelta(_) => &mut self.inputs,
            // The message that they make counts with the others.
            ClientMessage::Fragment(_) => &mut self.fragments,
            // In a relay room, messages to the others are what inputs are elsewhere.
            ClientMessage::Game(_) if place.is_relay() => &mut self.inputs,
            _ => &mut self.others,
        };
        if !bucket.take(now) {
            counters.drops.rate.inc();
            return self.strike(1);
        }
        match message {
            ClientMessage::Ping(ping) => self.ping(ping, place),
            ClientMessage::Heartbeat => {}
            ClientMessage::Fragment(fragment) => match self.reassembler.push(fragment, now.as_millis() as u64) {
                Ok(None) => {}
                Ok(Some(whole)) => self.whole(now, &whole, place),
                Err(_) => {
                    counters.drops.fragment.inc();
                    self.strike(STRIKES_UNREADABLE);
                }
            },
            ClientMessage::ManifestRequest => {
                let manifest = self.gateway.lobby.manifest(place.entrance);
                self.answer(ServerMessage::Manifest(manifest));
            }
            ClientMessage::SchemaRequest => {
                if let Place::Room { room, .. } = &place.entrance.place {
                    self.answer(ServerMessage::Schema(room.schema().to_bytes()));
                }
            }
            // Whoever is in already is not asked again.
            ClientMessage::Hello(_) => counters.drops.out_of_place.inc(),
            message => self.pass_on(message, place),
        }
    }

    /// A message that came in parts. It is never a part itself, so this goes no deeper.
    fn whole(&mut self, now: Duration, bytes: &[u8], place: &Inside<'_>) {
        match self.encoding.decode(bytes) {
            Ok(ClientMessage::Fragment(_)) => self.unreadable(&DecodeError::UnknownMessage),
            Err(error) => self.unreadable(&error),
            Ok(message) => self.message(now, message, place),
        }
    }

    /// The author of the client is told what is wrong; a client that goes on like this is soon closed.
    fn unreadable(&mut self, error: &DecodeError) {
        self.gateway.counters.decode_errors.inc();
        let (code, message) = (ErrorCode::BadMessage, error.to_string());
        self.answer(ServerMessage::Error(ErrorNotice { code, message, fatal: false }));
        self.strike(STRIKES_UNREADABLE);
    }

    fn ping(&mut self, Ping { client_time, tick }: Ping, place: &Inside<'_>) {
        self.gateway.counters.pings.inc();
        let hold = self.gateway.now().saturating_sub(self.heard_at);
        self.gateway.counters.ping_hold.observe(hold.as_secs_f64());
        let server_tick = match &place.entrance.place {
            Place::Room { room, .. } => room.figures().tick,
            Place::Relay(_) => Tick::ZERO,
        };
        let pong = Pong { client_time, tick, server_tick, hold_us: hold.as_micros() as u32 };
        self.answers.push((Path::Unreliable, ServerMessage::Pong(pong)));
    }

    /// Hands a message to the room, packed if the client speaks in words.
    fn pass_on(&mut self, message: ClientMessage, place: &Inside<'_>) {
        let message = match (message, place.readable) {
            (ClientMessage::Inputs(inputs), Some(readable)) => self.pack_inputs(inputs, readable),
            (ClientMessage::Game(message), Some(readable)) => self.pack_message(message, readable),
            (message, _) => Some(message),
        };
        let Some(message) = message else { return };
        match &place.entrance.place {
            Place::Room { link, .. } => {
                if link.push(message).is_err() {
                    self.gateway.counters.drops.inbox_full.inc();
                    self.strike(1);
                }
            }
            Place::Relay(seat) => match message {
                ClientMessage::Game(GameMessage { seq, body: GameBody::Packed { code, payload } }) => {
                    let result = seat.say(code, &payload);
                    if seq != CommandSeq(0) || result.is_err() {
                        let error =
                            result.err().map(|refusal| CommandError { code: refusal.code, message: refusal.message });
                        self.answer(ServerMessage::Ack(Ack { seq, error }));
                    }
                }
                ClientMessage::Leave => {
                    self.end.get_or_insert_with(|| End::told(CloseReason::Left));
                }
                _ => self.gateway.counters.drops.out_of_place.inc(),
            },
        }
    }

    fn pack_inputs(&mut self, inputs: Inputs, readable: &Readable) -> Option<ClientMessage> {
        match readable.pack_inputs(inputs) {
            Ok(inputs) => Some(ClientMessage::Inputs(inputs)),
            Err(Unpackable(message)) => {
                let message = short(message);
                self.answer(ServerMessage::Error(ErrorNotice { code: ErrorCode::BadValue, message, fatal: false }));
                self.strike(1);
                None
            }
        }
    }

    fn pack_message(&mut self, GameMessage { seq, body }: GameMessage, readable: &Readable) -> Option<ClientMessage> {
        let error = match readable.pack_message(body) {
            Ok(Some(body)) => return Some(ClientMessage::Game(GameMessage { seq, body })),
            Ok(None) => {
                let message = "this game has no such feature and action".to_owned();
                CommandError { code: ErrorCode::UnknownCommand, message }
            }
            Err(Unpackable(message)) => CommandError { code: ErrorCode::BadValue, message: short(message) },
        };
        self.answer(ServerMessage::Ack(Ack { seq, error: Some(error) }));
        None
    }

    fn answer(&mut self, message: ServerMessage) {
        self.answers.push((Path::Reliable, message));
    }

    fn strike(&mut self, count: u32) {
        self.strikes += count;
        if self.strikes > STRIKES_MAX {
            self.end.get_or_insert_with(|| End::told(CloseReason::Flooded));
        }
    }
}

/// A sentence that fits a message; one that does not would be lost with it.
fn short(mut message: String) -> String {
    message.truncate(message.floor_char_boundary(TEXT_BYTES_MAX));
    message
}

/// Where the client is, as far as its messages need it.
pub(super) struct Inside<'a> {
    pub entrance: &'a Entrance,
    pub readable: Option<&'a Readable>,
}

impl Inside<'_> {
    fn is_relay(&self) -> bool {
        matches!(self.entrance.place, Place::Relay(_))
    }
}
