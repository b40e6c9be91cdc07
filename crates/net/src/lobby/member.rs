//! Membership of game rooms and relay rooms.

use crate::connection::{ConnectionEnd, OutgoingMessages};
use crate::protocol::room::{JsonTranslator, RoomOutputWriter};
use crate::relay::RelayMember;
use crate::transport::Transport;
use aether_engine::{ConnectionEndpoint, Rejection, RoomHandle, RoomStats};
use aether_wire::{
    Ack, ClientMessage, CloseReason, Closing, CommandError, CommandSeq, Encoding, ErrorCode, GameBody, GameMessage,
    Permissions, PlayerId, SchemaHash, ServerMessage, Tick, Vector2, Welcome, WorldParameters,
};
use std::task::{Context, Poll, Waker};

/// Tick rate that determines the message rate of a relay: that of inputs in a room with 60 ticks per second.
const RELAY_TICK_HZ: u32 = 60;

/// A connection's membership of a room.
pub enum RoomMember {
    /// Member of a game room, which admits the player in its next tick.
    Room {
        /// Handle of the room.
        room: RoomHandle,
        /// Connection's end of the two queues.
        endpoint: ConnectionEndpoint,
    },
    /// Member of a relay room.
    Relay(RelayMember),
}

/// Outcome of passing a message to a room.
pub(crate) enum PassOutcome {
    /// The room has queued the message.
    Queued,
    /// The inbox of the room is full.
    Full,
    /// The room has answered at once.
    Answered(ServerMessage),
    /// The player leaves the room.
    Left,
    /// Rooms of this kind do not handle such messages.
    Unsupported,
}

/// Everything in this crate that differs between game rooms and relays.
impl RoomMember {
    /// Waits for the room to admit or reject the player.
    pub(crate) fn poll_admission(&self, cx: &mut Context<'_>) -> Poll<Result<PlayerId, Rejection>> {
        let endpoint = match self {
            RoomMember::Room { endpoint, .. } => endpoint,
            RoomMember::Relay(member) => return Poll::Ready(Ok(member.player())),
        };
        endpoint.register_waker(cx.waker());
        match endpoint.admission() {
            Some(admission) => Poll::Ready(admission.clone()),
            None if endpoint.closing().is_some() => {
                Poll::Ready(Err(Rejection::new(ErrorCode::RoomNotFound, "the room has ended; join another one")))
            }
            None => Poll::Pending,
        }
    }

    /// Tick rate that determines the rate of inputs, or of messages to a relay.
    pub(crate) fn tick_hz(&self) -> u32 {
        match self {
            RoomMember::Room { room, .. } => room.settings().tick_hz,
            RoomMember::Relay(_) => RELAY_TICK_HZ,
        }
    }

    /// Returns true for a relay, whose game messages are as frequent as inputs elsewhere.
    pub(crate) fn is_relay(&self) -> bool {
        matches!(self, RoomMember::Relay(_))
    }

    /// Stats of the room; all zero for a relay.
    pub(crate) fn stats(&self) -> RoomStats {
        match self {
            RoomMember::Room { room, .. } => room.stats(),
            RoomMember::Relay(_) => RoomStats::default(),
        }
    }

    /// Encoded schema of the room; none for a relay.
    pub(crate) fn schema_bytes(&self) -> Option<Vec<u8>> {
        match self {
            RoomMember::Room { room, .. } => Some(room.schema().to_bytes()),
            RoomMember::Relay(_) => None,
        }
    }

    /// Returns a translator for a client of a game room whose encoding has values by name.
    pub(crate) fn json_translator(&self, encoding: Encoding) -> Option<Box<JsonTranslator>> {
        match self {
            RoomMember::Room { room, .. } if encoding.has_named_values() => {
                Some(Box::new(JsonTranslator::new(room.schema(), room.settings().seconds_per_tick())))
            }
            _ => None,
        }
    }

    /// Adds the parameters of the room to a welcome.
    pub(crate) fn complete_welcome(&self, welcome: Welcome) -> Welcome {
        let RoomMember::Room { room, .. } = self else { return welcome };
        let settings = room.settings();
        let corner = |[x, y]: [f32; 2]| Vector2 { x, y };
        Welcome {
            tick_hz: settings.tick_hz,
            snapshot_hz: settings.snapshot_hz,
            server_tick: room.stats().tick.max(Tick(1)),
            world: WorldParameters {
                min: corner(settings.bounds.min),
                max: corner(settings.bounds.max),
                // 0 stands for a room where everyone sees everything.
                interest_radius: settings.interest.map_or(0.0, |interest| interest.radius),
            },
            schema_hash: SchemaHash(room.schema().hash()),
            ..welcome
        }
    }

    /// Tells the room that the permissions of the player changed. Returns false if the room is too busy to be told. A
    /// relay has nothing that needs a permission.
    pub(crate) fn set_permissions(&self, player: PlayerId, permissions: Permissions) -> bool {
        match self {
            RoomMember::Room { room, .. } => room.set_permissions(player, permissions).is_ok(),
            RoomMember::Relay(_) => true,
        }
    }

    /// Removes the player from the room at its next tick, without time to resume. If the room is too busy, the server tries
    /// again. A player leaves a relay with the connection.
    pub(crate) fn remove(&self, player: PlayerId, reason: CloseReason) {
        if let RoomMember::Room { room, .. } = self {
            let _ = room.remove(player, reason);
        }
    }

    /// Passes a message to the room.
    pub(crate) fn push(&self, message: ClientMessage) -> PassOutcome {
        match self {
            RoomMember::Room { endpoint, .. } => match endpoint.push(message) {
                Ok(()) => PassOutcome::Queued,
                Err(_) => PassOutcome::Full,
            },
            RoomMember::Relay(member) => send_to_relay(member, message),
        }
    }

    /// Registers a waker that is called when the room has output for the client.
    pub(crate) fn wake_by(&self, waker: &Waker) {
        match self {
            RoomMember::Room { endpoint, .. } => endpoint.register_waker(waker),
            RoomMember::Relay(member) => member.wake_by(waker),
        }
    }

    /// Returns true if the room has output for the client.
    pub(crate) fn has_output(&self) -> bool {
        match self {
            RoomMember::Room { endpoint, .. } => endpoint.has_output(),
            RoomMember::Relay(member) => member.has_output(),
        }
    }

    /// Returns the reason for which the room closes the connection, if it does.
    pub(crate) fn closing(&self) -> Option<&Closing> {
        match self {
            RoomMember::Room { endpoint, .. } => endpoint.closing(),
            RoomMember::Relay(member) => member.closing(),
        }
    }

    /// Queues output of the room. Returns the end of the connection, if the room closed it and all output is queued.
    pub(crate) fn fill<T: Transport>(
        &self,
        writer: &mut RoomOutputWriter<'_>,
        out: &mut OutgoingMessages<'_, T>,
    ) -> Option<ConnectionEnd> {
        match self {
            RoomMember::Room { endpoint, .. } => writer.fill_from_room(endpoint, out),
            RoomMember::Relay(member) => writer.fill_from_relay(member, out),
        }
    }
}

fn send_to_relay(member: &RelayMember, message: ClientMessage) -> PassOutcome {
    match message {
        ClientMessage::Game(GameMessage { seq, body: GameBody::Packed { code, payload } }) => {
            let result = member.send(code, &payload);
            if seq == CommandSeq(0) && result.is_ok() {
                return PassOutcome::Queued;
            }
            let error = result.err().map(|rejection| CommandError { code: rejection.code, message: rejection.message });
            PassOutcome::Answered(ServerMessage::Ack(Ack { seq, error }))
        }
        ClientMessage::Leave => PassOutcome::Left,
        _ => PassOutcome::Unsupported,
    }
}
