//! Handles messages of an admitted client.

use super::Answers;
use super::counters::RoomProtocolMetrics;
use super::readable::{JsonTranslator, TranslateError};
use super::writer::RoomOutputWriter;
use crate::connection::{ConnectionEnd, OutgoingMessages, RateMeter};
use crate::gateway::Gateway;
use crate::lobby::{JoinGrant, PassOutcome, SessionValidity};
use crate::transport::Transport;
use aether_wire::limits::TEXT_BYTES_MAX;
use aether_wire::{
    Ack, ClientMessage, CloseReason, Closing, CommandError, DecodeError, DeliveryPath, Encoding, ErrorCode,
    ErrorNotice, GameMessage, Inputs, Ping, PlayerId, Pong, Reassembler, ServerMessage, Welcome,
};
use std::time::Duration;

/// A client that is in a room: answers what concerns the connection, and hands the rest to the room.
pub(super) struct JoinedClient<'a> {
    gateway: &'a Gateway,
    pub entrance: JoinGrant,
    pub player: PlayerId,
    pub answers: Answers,
    writer: RoomOutputWriter<'a>,
    /// The first message to the client, until it is written.
    welcome: Option<Box<Welcome>>,
    has_resume_token: bool,
    reassembler: Reassembler,
    /// True once the client said anything.
    spoke: bool,
    session_epoch: u64,
}

impl<'a> JoinedClient<'a> {
    pub fn new(
        gateway: &'a Gateway,
        (encoding, hello_at): (Encoding, Duration),
        (entrance, player): (JoinGrant, PlayerId),
        welcome: Welcome,
        answers: Answers,
    ) -> JoinedClient<'a> {
        let mut reassembler = Reassembler::closed();
        reassembler.open();
        JoinedClient {
            gateway,
            writer: RoomOutputWriter::new(gateway, hello_at, entrance.place.readable(encoding)),
            player,
            answers,
            has_resume_token: welcome.resume_token.is_some(),
            welcome: Some(Box::new(welcome)),
            reassembler,
            spoke: false,
            session_epoch: gateway.lobby.sessions().epoch(),
            entrance,
        }
    }

    /// Returns true once the welcome is written.
    pub fn is_welcomed(&self) -> bool {
        self.welcome.is_none()
    }

    /// Notes that the client said something, so that it has its welcome.
    pub fn hear(&mut self) {
        if !std::mem::replace(&mut self.spoke, true) {
            self.gateway.lobby.heard(&self.entrance);
        }
    }

    /// Returns the bytes of a message whose last part this was.
    pub fn handle_message(&mut self, message: ClientMessage, meter: &mut RateMeter<'_>) -> Option<Vec<u8>> {
        self.check_session(meter);
        if meter.has_end() {
            return None;
        }
        match message {
            ClientMessage::Ping(ping) => self.handle_ping(ping, meter.now()),
            ClientMessage::Heartbeat => {}
            ClientMessage::Fragment(fragment) => {
                match self.reassembler.push(fragment, meter.now().as_millis() as u64) {
                    Ok(whole) => return whole,
                    Err(_) => {
                        self.counters().drops.fragment.inc();
                        meter.strike_unreadable();
                    }
                }
            }
            ClientMessage::ManifestRequest => {
                let manifest = self.gateway.lobby.manifest(&self.entrance);
                self.answer(ServerMessage::Manifest(manifest));
            }
            ClientMessage::SchemaRequest => {
                if let Some(schema) = self.entrance.place.schema_bytes() {
                    self.answer(ServerMessage::Schema(schema));
                }
            }
            // Whoever is in already is not asked again.
            ClientMessage::Hello(_) => self.counters().drops.out_of_place.inc(),
            message => self.pass_on(message, meter),
        }
        None
    }

    /// The author of the client is told what is wrong; a client that goes on like this is soon closed.
    pub fn handle_unreadable(&mut self, error: DecodeError) {
        let (code, message) = (ErrorCode::BadMessage, error.to_string());
        self.answer(ServerMessage::Error(ErrorNotice { code, message, fatal: false }));
    }

    pub fn handle_second(&mut self, was_heard: bool, meter: &mut RateMeter<'_>) {
        self.reassembler.expire(meter.now().as_millis() as u64);
        if self.gateway.lobby.sessions().standing(self.entrance.session, was_heard) == SessionValidity::Ended {
            meter.close(CloseReason::SessionEnded);
        }
    }

    /// Writes the welcome, and then what the room has.
    pub fn fill<T: Transport>(&mut self, out: &mut OutgoingMessages<'_, T>) -> Option<ConnectionEnd> {
        if let Some(welcome) = self.welcome.take()
            && !self.writer.write(out, DeliveryPath::Reliable, &ServerMessage::Welcome(*welcome))
        {
            return Some(ConnectionEnd::told(CloseReason::RoomFailed));
        }
        self.entrance.place.fill(&mut self.writer, out)
    }

    /// Says whether the client may come back by its resume token.
    pub fn complete(&self, end: &mut ConnectionEnd) {
        if let ConnectionEnd::Told(Closing { reason, may_resume, .. }) = end {
            // A durable room says itself that it will be there again.
            let possible = *may_resume || matches!(reason, CloseReason::TimedOut | CloseReason::TooSlow);
            *may_resume = self.has_resume_token && possible;
        }
    }

    fn counters(&self) -> &'a RoomProtocolMetrics {
        &self.gateway.connections.counters.room
    }

    /// On each message one load tells whether any session was revoked since the last time.
    fn check_session(&mut self, meter: &mut RateMeter<'_>) {
        let sessions = self.gateway.lobby.sessions();
        let epoch = sessions.epoch();
        if epoch != self.session_epoch {
            self.session_epoch = epoch;
            if sessions.standing(self.entrance.session, true) == SessionValidity::Ended {
                meter.close(CloseReason::SessionEnded);
            }
        }
    }

    fn handle_ping(&mut self, Ping { client_time, tick }: Ping, heard_at: Duration) {
        self.counters().pings.inc();
        let hold = self.gateway.now().saturating_sub(heard_at);
        self.counters().ping_hold.observe(hold.as_secs_f64());
        let server_tick = self.entrance.place.tick();
        let pong = Pong { client_time, tick, server_tick, hold_us: hold.as_micros() as u32 };
        self.answers.push((DeliveryPath::Unreliable, ServerMessage::Pong(pong)));
    }

    /// Hands a message to the room, packed if the client speaks in words.
    fn pass_on(&mut self, message: ClientMessage, meter: &mut RateMeter<'_>) {
        let packed = match (message, self.writer.readable()) {
            (ClientMessage::Inputs(inputs), Some(readable)) => pack_inputs(inputs, readable),
            (ClientMessage::Game(message), Some(readable)) => pack_message(message, readable),
            (message, _) => Ok(message),
        };
        let message = match packed {
            Ok(message) => message,
            Err(answer) => {
                if matches!(*answer, ServerMessage::Error(_)) {
                    meter.strike(1);
                }
                return self.answer(*answer);
            }
        };
        match self.entrance.place.push(message) {
            PassOutcome::Taken => {}
            PassOutcome::Full => {
                self.counters().drops.inbox_full.inc();
                meter.strike(1);
            }
            PassOutcome::Answered(answer) => self.answer(answer),
            PassOutcome::Left => meter.close(CloseReason::Left),
            PassOutcome::OutOfPlace => self.counters().drops.out_of_place.inc(),
        }
    }

    fn answer(&mut self, message: ServerMessage) {
        self.answers.push((DeliveryPath::Reliable, message));
    }
}

/// Packs inputs, or returns what the author of the client is told.
fn pack_inputs(inputs: Inputs, readable: &JsonTranslator) -> Result<ClientMessage, Box<ServerMessage>> {
    readable.pack_inputs(inputs).map(ClientMessage::Inputs).map_err(|TranslateError(message)| {
        let message = short(message);
        Box::new(ServerMessage::Error(ErrorNotice { code: ErrorCode::BadValue, message, fatal: false }))
    })
}

/// Packs a message to the game, or returns what the client is answered.
fn pack_message(
    GameMessage { seq, body }: GameMessage,
    readable: &JsonTranslator,
) -> Result<ClientMessage, Box<ServerMessage>> {
    let error = match readable.pack_message(body) {
        Ok(Some(body)) => return Ok(ClientMessage::Game(GameMessage { seq, body })),
        Ok(None) => {
            let message = "this game has no such feature and action".to_owned();
            CommandError { code: ErrorCode::UnknownCommand, message }
        }
        Err(TranslateError(message)) => CommandError { code: ErrorCode::BadValue, message: short(message) },
    };
    Err(Box::new(ServerMessage::Ack(Ack { seq, error: Some(error) })))
}

/// A sentence that fits a message; one that does not would be lost with it.
fn short(mut message: String) -> String {
    message.truncate(message.floor_char_boundary(TEXT_BYTES_MAX));
    message
}
