//! Places in rooms of either kind.

use crate::connection::{ConnectionEnd, OutgoingMessages};
use crate::protocol::room::{JsonTranslator, RoomOutputWriter};
use crate::relay::RelayMember;
use crate::transport::Transport;
use aether_engine::{ConnectionEndpoint, Rejection, RoomHandle};
use aether_wire::{
    Ack, ClientMessage, Closing, CommandError, CommandSeq, Encoding, ErrorCode, GameBody, GameMessage, PlayerId,
    SchemaHash, ServerMessage, Tick, Vector2, Welcome, WorldParameters,
};
use std::task::{Context, Poll, Waker};

/// Tick rate from which the rate of a relay's messages is derived: that of inputs in a room of 60 ticks a second.
const RELAY_TICK_HZ: u32 = 60;

/// A place in a room.
pub enum RoomMember {
    /// In a room that ticks; it lets the player in with its next tick.
    Room {
        /// The room.
        room: RoomHandle,
        /// The connection's end of the two queues.
        link: ConnectionEndpoint,
    },
    /// In a room that only passes messages on.
    Relay(RelayMember),
}

/// Fate of a message that was handed to a room.
pub(crate) enum PassOutcome {
    /// The room has it.
    Taken,
    /// The room has as many as it takes in one tick.
    Full,
    /// The room answered at once.
    Answered(ServerMessage),
    /// The player leaves.
    Left,
    /// Rooms of this kind have no use for it.
    OutOfPlace,
}

/// Everything that depends on the kind of room; nothing else in this crate asks for the kind.
impl RoomMember {
    /// Waits until the room lets the player in, or does not.
    pub(crate) fn poll_admission(&self, cx: &mut Context<'_>) -> Poll<Result<PlayerId, Rejection>> {
        let link = match self {
            RoomMember::Room { link, .. } => link,
            RoomMember::Relay(seat) => return Poll::Ready(Ok(seat.player())),
        };
        link.register_waker(cx.waker());
        match link.admission() {
            Some(admission) => Poll::Ready(admission.clone()),
            None if link.closing().is_some() => {
                Poll::Ready(Err(Rejection::new(ErrorCode::RoomNotFound, "the room has ended")))
            }
            None => Poll::Pending,
        }
    }

    /// Ticks a second by which the rate of inputs, or of messages to a relay, is measured.
    pub(crate) fn tick_hz(&self) -> u32 {
        match self {
            RoomMember::Room { room, .. } => room.settings().tick_hz,
            RoomMember::Relay(_) => RELAY_TICK_HZ,
        }
    }

    /// Returns true if messages to the game come as often as inputs do elsewhere.
    pub(crate) fn is_relay(&self) -> bool {
        matches!(self, RoomMember::Relay(_))
    }

    /// The room's last tick; zero where there is none.
    pub(crate) fn tick(&self) -> Tick {
        match self {
            RoomMember::Room { room, .. } => room.stats().tick,
            RoomMember::Relay(_) => Tick::ZERO,
        }
    }

    /// The room's schema as bytes, if it has one.
    pub(crate) fn schema_bytes(&self) -> Option<Vec<u8>> {
        match self {
            RoomMember::Room { room, .. } => Some(room.schema().to_bytes()),
            RoomMember::Relay(_) => None,
        }
    }

    /// A translator for a client that speaks in words, where the room speaks in bits.
    pub(crate) fn readable(&self, encoding: Encoding) -> Option<Box<JsonTranslator>> {
        match (self, encoding) {
            (RoomMember::Room { room, .. }, Encoding::Json) => {
                Some(Box::new(JsonTranslator::new(room.schema(), room.settings().seconds_per_tick())))
            }
            _ => None,
        }
    }

    /// Adds to a welcome what there is to say of the room.
    pub(crate) fn complete(&self, welcome: Welcome) -> Welcome {
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
                // A room where everyone sees everything shows no radius.
                interest_radius: settings.interest.map_or(0.0, |interest| interest.radius),
            },
            schema_hash: SchemaHash(room.schema().hash()),
            ..welcome
        }
    }

    /// Hands a message to the room.
    pub(crate) fn push(&self, message: ClientMessage) -> PassOutcome {
        match self {
            RoomMember::Room { link, .. } => match link.push(message) {
                Ok(()) => PassOutcome::Taken,
                Err(_) => PassOutcome::Full,
            },
            RoomMember::Relay(seat) => say(seat, message),
        }
    }

    /// Has this waker called when the room has something for the client.
    pub(crate) fn wake_by(&self, waker: &Waker) {
        match self {
            RoomMember::Room { link, .. } => link.register_waker(waker),
            RoomMember::Relay(seat) => seat.wake_by(waker),
        }
    }

    /// Returns true if the room has something for the client.
    pub(crate) fn has_news(&self) -> bool {
        match self {
            RoomMember::Room { link, .. } => link.has_output(),
            RoomMember::Relay(seat) => seat.has_news(),
        }
    }

    /// Returns the reason for which the room ended the connection, if it did.
    pub(crate) fn closing(&self) -> Option<&Closing> {
        match self {
            RoomMember::Room { link, .. } => link.closing(),
            RoomMember::Relay(seat) => seat.closing(),
        }
    }

    /// Queues what the room has for the client. Returns why the room ended the connection, if it did and all was said.
    pub(crate) fn fill<T: Transport>(
        &self,
        writer: &mut RoomOutputWriter<'_>,
        out: &mut OutgoingMessages<'_, T>,
    ) -> Option<ConnectionEnd> {
        match self {
            RoomMember::Room { link, .. } => writer.fill_from_room(link, out),
            RoomMember::Relay(seat) => writer.fill_from_relay(seat, out),
        }
    }
}

fn say(seat: &RelayMember, message: ClientMessage) -> PassOutcome {
    match message {
        ClientMessage::Game(GameMessage { seq, body: GameBody::Packed { code, payload } }) => {
            let result = seat.say(code, &payload);
            if seq == CommandSeq(0) && result.is_ok() {
                return PassOutcome::Taken;
            }
            let error = result.err().map(|refusal| CommandError { code: refusal.code, message: refusal.message });
            PassOutcome::Answered(ServerMessage::Ack(Ack { seq, error }))
        }
        ClientMessage::Leave => PassOutcome::Left,
        _ => PassOutcome::OutOfPlace,
    }
}
