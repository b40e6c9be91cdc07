//! The room protocol: hello and welcome, then inputs and commands one way, state and events the other.
//!
//! [`opening`] is the time until the welcome, [`session`] handles the messages of an admitted client, [`writer`] carries
//! what the room has for it, and [`readable`] translates for clients that speak JSON.

mod counters;
mod opening;
mod readable;
mod session;
mod writer;

use super::Protocol;
use crate::connection::{ConnectionEnd, MessageClass, MessageRates, OutgoingMessages, RateMeter};
use crate::gateway::Gateway;
use crate::transport::Transport;
use aether_engine::closing;
use aether_limits::RateLimit;
use aether_replication::DeliveryOrder;
use aether_wire::limits::{FRAGMENTS_PER_MESSAGE_MAX, HELLO_BYTES_MAX};
use aether_wire::{
    ClientMessage, CloseReason, Closing, ConnectionId, DecodeError, DeliveryPath, Encoding, RoomSelector, ServerMessage,
};
pub(crate) use counters::RoomProtocolMetrics;
use counters::kind_in;
use opening::RoomHandshake;
pub(crate) use readable::JsonTranslator;
use session::JoinedClient;
use std::net::IpAddr;
use std::task::Context;
use tracing::info;
pub(crate) use writer::RoomOutputWriter;
use writer::write;

/// The target of what is logged of players: that of the connection, which they are part of.
const LOG: &str = "aether_net::connection";

/// Rate of parts of messages: a whole message at once, and one each two seconds.
const FRAGMENTS: RateLimit =
    RateLimit { per_second: FRAGMENTS_PER_MESSAGE_MAX as u32 / 2, burst: FRAGMENTS_PER_MESSAGE_MAX as u32 };

/// A client of a room.
pub(crate) struct RoomProtocol<'a> {
    gateway: &'a Gateway,
    client: NewClient,
    stage: Stage<'a>,
}

/// Properties of a client that its connection alone tells.
pub(crate) struct NewClient {
    pub connection: ConnectionId,
    pub address: IpAddr,
    pub is_local: bool,
    /// The room that the address named, if it did.
    pub room: Option<RoomSelector>,
    pub encoding: Encoding,
    pub order: DeliveryOrder,
    /// Name of the transport.
    pub transport: &'static str,
}

enum Stage<'a> {
    Opening(Box<RoomHandshake<'a>>),
    Open(Box<JoinedClient<'a>>),
}

/// Answers that wait to be written.
type Answers = Vec<(DeliveryPath, ServerMessage)>;

impl<'a> RoomProtocol<'a> {
    pub fn new(gateway: &'a Gateway, client: NewClient) -> RoomProtocol<'a> {
        RoomProtocol { gateway, client, stage: Stage::Opening(Box::new(RoomHandshake::new(gateway))) }
    }

    fn counters(&self) -> &'a RoomProtocolMetrics {
        &self.gateway.connections.counters.room
    }

    fn admit(&mut self, session: Box<JoinedClient<'a>>) {
        info!(
            target: LOG,
            connection = self.client.connection.0,
            address = %self.client.address,
            transport = self.client.transport,
            user = session.grant.user,
            room = session.grant.room.0,
            player = session.player.0,
            "joined"
        );
        self.stage = Stage::Open(session);
    }
}

impl Protocol for RoomProtocol<'_> {
    type Message = ClientMessage;
    type Unreadable = DecodeError;

    fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open(_))
    }

    fn message_bytes_max(&self) -> usize {
        match self.stage {
            Stage::Opening(_) => HELLO_BYTES_MAX,
            Stage::Open(_) => self.gateway.connections.settings.message_bytes_max,
        }
    }

    fn rates(&self) -> MessageRates {
        let usual = self.gateway.connections.settings.rate;
        let frequent = match &self.stage {
            Stage::Opening(_) => usual,
            Stage::Open(session) => RateLimit::inputs(session.grant.member.tick_hz()),
        };
        MessageRates { usual, frequent, fragments: FRAGMENTS }
    }

    fn can_receive(&self) -> bool {
        match &self.stage {
            Stage::Opening(opening) => opening.awaits_hello(),
            Stage::Open(session) => session.is_welcomed(),
        }
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<ClientMessage, DecodeError> {
        if let Stage::Open(session) = &mut self.stage {
            session.confirm_welcome();
        }
        let message = self.client.encoding.decode(bytes)?;
        self.counters().packets_in[kind_in(&message)].inc();
        Ok(message)
    }

    fn class(&self, message: &ClientMessage) -> MessageClass {
        match message {
            ClientMessage::Inputs(_) | ClientMessage::Ack(_) | ClientMessage::MovementDelta(_) => {
                MessageClass::Frequent
            }
            // The message that they make counts with the others.
            ClientMessage::Fragment(_) => MessageClass::Fragments,
            ClientMessage::Game(_) if matches!(&self.stage, Stage::Open(session) if session.grant.member.is_relay()) => {
                MessageClass::Frequent
            }
            _ => MessageClass::Usual,
        }
    }

    fn handle_message(&mut self, _path: DeliveryPath, message: ClientMessage, meter: &mut RateMeter<'_>) {
        let whole = match &mut self.stage {
            Stage::Opening(opening) => return opening.handle_message(message, &self.client, meter),
            Stage::Open(session) => session.handle_message(message, meter),
        };
        // A message that came in parts. It is never a part itself, so this goes no deeper.
        if let Some(whole) = whole {
            match self.decode(&whole) {
                Ok(ClientMessage::Fragment(_)) => self.handle_unreadable_part(DecodeError::UnknownMessage, meter),
                Err(error) => self.handle_unreadable_part(error, meter),
                Ok(message) => {
                    if meter.admits(self.class(&message)) {
                        self.handle_message(DeliveryPath::Reliable, message, meter);
                    }
                }
            }
        }
    }

    fn handle_unreadable(&mut self, error: DecodeError, meter: &mut RateMeter<'_>) {
        match &mut self.stage {
            Stage::Opening(opening) => opening.handle_unreadable(error, meter),
            Stage::Open(session) => session.handle_unreadable(error),
        }
    }

    fn handle_second(&mut self, is_active: bool, meter: &mut RateMeter<'_>) {
        if let Stage::Open(session) = &mut self.stage {
            session.handle_second(is_active, meter);
        }
    }

    fn handle_deadline(&mut self) -> Closing {
        match &mut self.stage {
            Stage::Opening(opening) => opening.handle_deadline(),
            Stage::Open(_) => closing(CloseReason::Unauthenticated),
        }
    }

    fn poll_work(&mut self, cx: &mut Context<'_>, meter: &mut RateMeter<'_>) {
        if let Stage::Opening(opening) = &mut self.stage
            && let Some(session) = opening.poll(cx, &self.client, meter)
        {
            self.admit(session);
        }
        if let Stage::Open(session) = &self.stage {
            session.grant.member.wake_by(cx.waker());
        }
    }

    fn answer<T: Transport>(&mut self, out: &mut OutgoingMessages<'_, T>) -> bool {
        let counters = self.counters();
        let answers = match &mut self.stage {
            Stage::Opening(opening) => &mut opening.answers,
            Stage::Open(session) => &mut session.answers,
        };
        let has_answers = !answers.is_empty();
        for (path, answer) in answers.drain(..) {
            write(counters, out, path, &answer);
        }
        has_answers
    }

    fn has_output(&self) -> bool {
        match &self.stage {
            Stage::Opening(_) => false,
            Stage::Open(session) => !session.is_welcomed() || session.grant.member.has_output(),
        }
    }

    fn fill<T: Transport>(&mut self, out: &mut OutgoingMessages<'_, T>) -> Option<ConnectionEnd> {
        match &mut self.stage {
            Stage::Opening(_) => None,
            Stage::Open(session) => session.fill(out),
        }
    }

    fn closing(&self) -> Option<&Closing> {
        match &self.stage {
            Stage::Opening(_) => None,
            Stage::Open(session) => session.grant.member.closing(),
        }
    }

    fn handle_stop<T: Transport>(&mut self, deadline_ms: u32, out: &mut OutgoingMessages<'_, T>) {
        let notice = Closing { deadline_ms, ..closing(CloseReason::Shutdown) };
        write(self.counters(), out, DeliveryPath::Reliable, &ServerMessage::Closing(notice));
    }

    fn handle_end<T: Transport>(&mut self, end: &mut ConnectionEnd, out: &mut OutgoingMessages<'_, T>) {
        if let Stage::Open(session) = &self.stage {
            session.complete_end(end);
            info!(target: LOG, connection = self.client.connection.0, reason = end.label(), "left");
        }
        if let ConnectionEnd::Closing(closing) = end {
            write(self.counters(), out, DeliveryPath::Reliable, &ServerMessage::Closing(closing.clone()));
        }
    }
}

impl RoomProtocol<'_> {
    /// Handles a message in parts that cannot be read, as the driver does with whole ones.
    fn handle_unreadable_part(&mut self, error: DecodeError, meter: &mut RateMeter<'_>) {
        self.gateway.connections.counters.decode_errors.inc();
        self.handle_unreadable(error, meter);
        meter.strike_unreadable();
    }
}
