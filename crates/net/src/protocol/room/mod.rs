//! The room protocol: hello and welcome, then inputs and commands from the client, state and events from the room.
//!
//! [`handshake`] runs until the welcome, [`joined_client`] handles messages of an admitted client, [`writer`] sends the
//! output of the room, and [`json_translator`] translates for JSON clients.

mod handshake;
mod joined_client;
mod json_translator;
mod metrics;
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
    ClientMessage, CloseReason, Closing, ConnectionId, DecodeError, DeliveryPath, Encoding, ErrorCode, ErrorNotice,
    RoomSelector, ServerMessage,
};
use handshake::RoomHandshake;
use joined_client::JoinedClient;
pub(crate) use json_translator::JsonTranslator;
pub use json_translator::to_json;
pub(crate) use metrics::RoomProtocolMetrics;
use metrics::client_message_index;
use std::net::IpAddr;
use std::task::Context;
use tracing::info;
pub(crate) use writer::RoomOutputWriter;
use writer::write;

/// Log target of players: that of connections.
const LOG: &str = "aether_net::connection";

/// Rate of fragments: a whole message at once, and one more each two seconds.
const FRAGMENTS: RateLimit =
    RateLimit { per_second: FRAGMENTS_PER_MESSAGE_MAX as u32 / 2, burst: FRAGMENTS_PER_MESSAGE_MAX as u32 };

/// Protocol of a client of a room.
pub(crate) struct RoomProtocol<'a> {
    gateway: &'a Gateway,
    client: NewClient,
    stage: Stage<'a>,
}

/// Properties of a client that are known from its connection.
pub(crate) struct NewClient {
    pub connection: ConnectionId,
    pub address: IpAddr,
    pub is_local: bool,
    /// Room that the URL named, if any.
    pub room: Option<RoomSelector>,
    /// Account that the transport has authenticated, if it has.
    pub account: Option<String>,
    pub encoding: Encoding,
    pub order: DeliveryOrder,
    /// Name of the transport.
    pub transport: &'static str,
}

enum Stage<'a> {
    Handshake(Box<RoomHandshake<'a>>),
    Joined(Box<JoinedClient<'a>>),
}

/// Answers that wait to be written.
type Answers = Vec<(DeliveryPath, ServerMessage)>;

impl<'a> RoomProtocol<'a> {
    pub fn new(gateway: &'a Gateway, client: NewClient) -> RoomProtocol<'a> {
        RoomProtocol { gateway, client, stage: Stage::Handshake(Box::new(RoomHandshake::new(gateway))) }
    }

    fn metrics(&self) -> &'a RoomProtocolMetrics {
        &self.gateway.connections.metrics.room
    }

    fn admit(&mut self, joined: Box<JoinedClient<'a>>) {
        info!(
            target: LOG,
            connection = self.client.connection.0,
            address = %self.client.address,
            transport = self.client.transport,
            user = joined.grant.user,
            room = joined.grant.room.0,
            player = joined.player.0,
            "player joined"
        );
        self.stage = Stage::Joined(joined);
    }
}

impl Protocol for RoomProtocol<'_> {
    type Message = ClientMessage;
    type Unreadable = DecodeError;

    fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Joined(_))
    }

    fn message_bytes_max(&self) -> usize {
        match self.stage {
            Stage::Handshake(_) => HELLO_BYTES_MAX,
            Stage::Joined(_) => self.gateway.connections.settings.message_bytes_max,
        }
    }

    fn rates(&self) -> MessageRates {
        let usual = self.gateway.connections.settings.rate;
        let frequent = match &self.stage {
            Stage::Handshake(_) => usual,
            Stage::Joined(joined) => RateLimit::inputs(joined.grant.member.tick_hz()),
        };
        MessageRates { usual, frequent, fragments: FRAGMENTS, costly: usual }
    }

    fn can_receive(&self) -> bool {
        match &self.stage {
            Stage::Handshake(handshake) => handshake.awaits_hello(),
            Stage::Joined(joined) => joined.is_welcomed(),
        }
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<ClientMessage, DecodeError> {
        if let Stage::Joined(joined) = &mut self.stage {
            joined.confirm_welcome();
        }
        let message = self.client.encoding.decode(bytes)?;
        self.metrics().packets_in[client_message_index(&message)].inc();
        Ok(message)
    }

    fn class(&self, message: &ClientMessage) -> MessageClass {
        match message {
            ClientMessage::Inputs(_) | ClientMessage::Ack(_) | ClientMessage::MovementDelta(_) => {
                MessageClass::Frequent
            }
            // The reassembled message counts against its own rate.
            ClientMessage::Fragment(_) => MessageClass::Fragments,
            ClientMessage::Game(_) if self.is_in_relay() => MessageClass::Frequent,
            _ => MessageClass::Usual,
        }
    }

    fn handle_message(&mut self, _path: DeliveryPath, message: ClientMessage, meter: &mut RateMeter<'_>) {
        let whole = match &mut self.stage {
            Stage::Handshake(handshake) => return handshake.handle_message(message, &self.client, meter),
            Stage::Joined(joined) => joined.handle_message(message, meter),
        };
        // A reassembled message must not be a fragment, so the recursion has depth one.
        if let Some(whole) = whole {
            match self.decode(&whole) {
                Ok(ClientMessage::Fragment(_)) => self.handle_unreadable_whole(DecodeError::UnknownMessage, meter),
                Err(error) => self.handle_unreadable_whole(error, meter),
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
            Stage::Handshake(handshake) => handshake.handle_unreadable(error, meter),
            Stage::Joined(joined) => joined.handle_unreadable(error),
        }
    }

    fn handle_second(&mut self, is_active: bool, meter: &mut RateMeter<'_>) {
        if let Stage::Joined(joined) = &mut self.stage {
            joined.handle_second(is_active, meter);
        }
    }

    fn handle_deadline(&mut self) -> Closing {
        match &mut self.stage {
            Stage::Handshake(handshake) => handshake.handle_deadline(),
            Stage::Joined(_) => closing(CloseReason::Unauthenticated),
        }
    }

    fn poll_work(&mut self, cx: &mut Context<'_>, meter: &mut RateMeter<'_>) {
        if let Stage::Handshake(handshake) = &mut self.stage
            && let Some(joined) = handshake.poll(cx, &self.client, meter)
        {
            self.admit(joined);
        }
        if let Stage::Joined(joined) = &self.stage {
            joined.grant.member.wake_by(cx.waker());
        }
    }

    fn answer<T: Transport>(&mut self, out: &mut OutgoingMessages<'_, T>) -> bool {
        let metrics = self.metrics();
        let answers = match &mut self.stage {
            Stage::Handshake(handshake) => &mut handshake.answers,
            Stage::Joined(joined) => &mut joined.answers,
        };
        let mut has_pong = false;
        for (path, answer) in answers.drain(..) {
            has_pong |= matches!(answer, ServerMessage::Pong(_));
            write(metrics, out, path, &answer);
        }
        has_pong
    }

    fn has_output(&self) -> bool {
        match &self.stage {
            Stage::Handshake(_) => false,
            Stage::Joined(joined) => !joined.is_welcomed() || joined.grant.member.has_output(),
        }
    }

    fn fill<T: Transport>(&mut self, out: &mut OutgoingMessages<'_, T>) -> Option<ConnectionEnd> {
        match &mut self.stage {
            Stage::Handshake(_) => None,
            Stage::Joined(joined) => joined.fill(out),
        }
    }

    fn closing(&self) -> Option<&Closing> {
        match &self.stage {
            Stage::Handshake(_) => None,
            Stage::Joined(joined) => joined.grant.member.closing(),
        }
    }

    fn handle_drain<T: Transport>(&mut self, out: &mut OutgoingMessages<'_, T>) {
        if !matches!(self.stage, Stage::Joined(_)) {
            return;
        }
        let message = "The server is draining: it takes no new rooms and joins. Your room continues.".to_owned();
        let notice = ErrorNotice { code: ErrorCode::Unavailable, message, fatal: false };
        write(self.metrics(), out, DeliveryPath::Reliable, &ServerMessage::Error(notice));
    }

    fn handle_stop<T: Transport>(&mut self, deadline_ms: u32, out: &mut OutgoingMessages<'_, T>) {
        let notice = Closing { deadline_ms, ..closing(CloseReason::Shutdown) };
        write(self.metrics(), out, DeliveryPath::Reliable, &ServerMessage::Closing(notice));
    }

    fn handle_end<T: Transport>(&mut self, end: &mut ConnectionEnd, out: &mut OutgoingMessages<'_, T>) {
        if let Stage::Joined(joined) = &self.stage {
            joined.complete_end(end);
            info!(target: LOG, connection = self.client.connection.0, reason = end.label(), "player left");
        }
        if let ConnectionEnd::Closing(closing) = end {
            write(self.metrics(), out, DeliveryPath::Reliable, &ServerMessage::Closing(closing.clone()));
        }
    }
}

impl RoomProtocol<'_> {
    /// Returns true if the client has joined a relay room.
    fn is_in_relay(&self) -> bool {
        matches!(&self.stage, Stage::Joined(joined) if joined.grant.member.is_relay())
    }

    /// Handles a reassembled message that cannot be decoded, as the driver does with whole messages.
    fn handle_unreadable_whole(&mut self, error: DecodeError, meter: &mut RateMeter<'_>) {
        self.gateway.connections.metrics.decode_errors.inc();
        self.handle_unreadable(error, meter);
        meter.strike_unreadable();
    }
}
