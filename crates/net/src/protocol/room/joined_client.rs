//! Handles messages of an admitted client.

use super::Answers;
use super::json_translator::{JsonTranslator, TranslateError};
use super::metrics::RoomProtocolMetrics;
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

/// A client that has joined a room. Messages about the connection are answered here; the others go to the room.
pub(super) struct JoinedClient<'a> {
    gateway: &'a Gateway,
    pub grant: JoinGrant,
    pub player: PlayerId,
    pub answers: Answers,
    writer: RoomOutputWriter<'a>,
    /// First message to the client, until it is written.
    welcome: Option<Box<Welcome>>,
    has_resume_token: bool,
    reassembler: Reassembler,
    /// True once the client has sent a message.
    has_sent: bool,
    session_epoch: u64,
}

impl<'a> JoinedClient<'a> {
    pub fn new(
        gateway: &'a Gateway,
        (encoding, hello_at): (Encoding, Duration),
        (grant, player): (JoinGrant, PlayerId),
        welcome: Welcome,
        answers: Answers,
    ) -> JoinedClient<'a> {
        let mut reassembler = Reassembler::closed();
        reassembler.open();
        JoinedClient {
            gateway,
            writer: RoomOutputWriter::new(gateway, hello_at, grant.member.json_translator(encoding)),
            player,
            answers,
            has_resume_token: welcome.resume_token.is_some(),
            welcome: Some(Box::new(welcome)),
            reassembler,
            has_sent: false,
            session_epoch: gateway.lobby.sessions().epoch(),
            grant,
        }
    }

    /// Returns true once the welcome is written.
    pub fn is_welcomed(&self) -> bool {
        self.welcome.is_none()
    }

    /// Notes that the client has sent a message, so it has received its welcome.
    pub fn confirm_welcome(&mut self) {
        if !std::mem::replace(&mut self.has_sent, true) {
            self.gateway.lobby.confirm_welcome(&self.grant);
        }
    }

    /// Handles a message. Returns the reassembled bytes if it is the last fragment of a longer message.
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
                        self.metrics().drops.fragment.inc();
                        meter.strike_unreadable();
                    }
                }
            }
            ClientMessage::ManifestRequest => {
                let manifest = self.gateway.lobby.manifest(&self.grant);
                self.answer(ServerMessage::Manifest(manifest));
            }
            ClientMessage::SchemaRequest => {
                if let Some(schema) = self.grant.member.schema_bytes() {
                    self.answer(ServerMessage::Schema(schema));
                }
            }
            // The client has already joined.
            ClientMessage::Hello(_) => self.metrics().drops.out_of_place.inc(),
            message => self.pass_to_room(message, meter),
        }
        None
    }

    /// Answers with the error, for the author of the client. Repeated errors end the connection.
    pub fn handle_unreadable(&mut self, error: DecodeError) {
        let (code, message) = (ErrorCode::BadMessage, error.to_string());
        self.answer(ServerMessage::Error(ErrorNotice { code, message, fatal: false }));
    }

    pub fn handle_second(&mut self, is_active: bool, meter: &mut RateMeter<'_>) {
        self.reassembler.expire(meter.now().as_millis() as u64);
        self.check_session(meter);
        if self.gateway.lobby.sessions().validity(self.grant.session, is_active) == SessionValidity::Ended {
            self.end_session(meter);
        }
    }

    /// Writes the welcome, and then what the room has.
    pub fn fill<T: Transport>(&mut self, out: &mut OutgoingMessages<'_, T>) -> Option<ConnectionEnd> {
        if let Some(welcome) = self.welcome.take()
            && !self.writer.write(out, DeliveryPath::Reliable, &ServerMessage::Welcome(*welcome))
        {
            return Some(ConnectionEnd::closing(CloseReason::RoomFailed));
        }
        self.grant.member.fill(&mut self.writer, out)
    }

    /// Sets `may_resume` in the notice that closes the connection.
    pub fn complete_end(&self, end: &mut ConnectionEnd) {
        if let ConnectionEnd::Closing(Closing { reason, may_resume, .. }) = end {
            // A durable room sets it itself when it will be available again.
            let is_possible = *may_resume || matches!(reason, CloseReason::TimedOut | CloseReason::TooSlow);
            *may_resume = self.has_resume_token && is_possible;
        }
    }

    fn metrics(&self) -> &'a RoomProtocolMetrics {
        &self.gateway.connections.metrics.room
    }

    /// Checks the session and its permissions if any session was revoked or any role was changed since the last check.
    fn check_session(&mut self, meter: &mut RateMeter<'_>) {
        let sessions = self.gateway.lobby.sessions();
        let epoch = sessions.epoch();
        if epoch == self.session_epoch {
            return;
        }
        if sessions.validity(self.grant.session, true) == SessionValidity::Ended {
            return self.end_session(meter);
        }
        let permissions = sessions.permissions(self.grant.session);
        if permissions != self.grant.permissions {
            if !self.grant.member.set_permissions(self.player, permissions) {
                // The next message or second tries again.
                return;
            }
            self.grant.permissions = permissions;
        }
        self.session_epoch = epoch;
    }

    /// Closes the connection, and removes the player from the room at once instead of after the time to resume.
    fn end_session(&self, meter: &mut RateMeter<'_>) {
        self.grant.member.remove(self.player, CloseReason::SessionEnded);
        meter.close(CloseReason::SessionEnded);
    }

    fn handle_ping(&mut self, Ping { client_time, tick }: Ping, received_at: Duration) {
        self.metrics().pings.inc();
        let hold = self.gateway.now().saturating_sub(received_at);
        self.metrics().ping_hold.observe(hold.as_secs_f64());
        let stats = self.grant.member.stats();
        let pong = Pong {
            client_time,
            tick,
            server_tick: stats.tick,
            hold_us: hold.as_micros() as u32,
            overload_rung: stats.overload,
            slowdown_percent: stats.slowdown_percent,
        };
        self.answers.push((DeliveryPath::Unreliable, ServerMessage::Pong(pong)));
    }

    /// Passes a message to the room, encoded if it is from a JSON client.
    fn pass_to_room(&mut self, message: ClientMessage, meter: &mut RateMeter<'_>) {
        let encoded = match (message, self.writer.translator()) {
            (ClientMessage::Inputs(inputs), Some(translator)) => encode_inputs(inputs, translator),
            (ClientMessage::Game(message), Some(translator)) => encode_message(message, translator),
            (message, _) => Ok(message),
        };
        let message = match encoded {
            Ok(message) => message,
            Err(answer) => {
                if matches!(*answer, ServerMessage::Error(_)) {
                    meter.strike(1);
                }
                return self.answer(*answer);
            }
        };
        match self.grant.member.push(message) {
            PassOutcome::Queued => {}
            PassOutcome::Full => {
                self.metrics().drops.inbox_full.inc();
                meter.strike(1);
            }
            PassOutcome::Answered(answer) => self.answer(answer),
            PassOutcome::Left => meter.close(CloseReason::Left),
            PassOutcome::Unsupported => self.metrics().drops.out_of_place.inc(),
        }
    }

    fn answer(&mut self, message: ServerMessage) {
        self.answers.push((DeliveryPath::Reliable, message));
    }
}

/// Encodes inputs, or returns the error for the client.
fn encode_inputs(inputs: Inputs, translator: &JsonTranslator) -> Result<ClientMessage, Box<ServerMessage>> {
    translator.encode_inputs(inputs).map(ClientMessage::Inputs).map_err(|TranslateError(message)| {
        let message = truncate(message);
        Box::new(ServerMessage::Error(ErrorNotice { code: ErrorCode::BadValue, message, fatal: false }))
    })
}

/// Encodes a message to the game, or returns the answer for the client.
fn encode_message(
    GameMessage { seq, body }: GameMessage,
    translator: &JsonTranslator,
) -> Result<ClientMessage, Box<ServerMessage>> {
    let error = match translator.encode_message(body) {
        Ok(Some(body)) => return Ok(ClientMessage::Game(GameMessage { seq, body })),
        Ok(None) => {
            let message = "the game has no message with this feature and action; check both names".to_owned();
            CommandError { code: ErrorCode::UnknownCommand, message }
        }
        Err(TranslateError(message)) => CommandError { code: ErrorCode::BadValue, message: truncate(message) },
    };
    Err(Box::new(ServerMessage::Ack(Ack { seq, error: Some(error) })))
}

/// Truncates a text to the limit of messages; a longer one could not be sent.
fn truncate(mut message: String) -> String {
    message.truncate(message.floor_char_boundary(TEXT_BYTES_MAX));
    message
}
