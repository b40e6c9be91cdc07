//! Places in rooms of either kind.

use crate::connection::{End, Outgoing};
use crate::protocol::room::{Readable, Writer};
use crate::relay::RelaySeat;
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
pub enum Place {
    /// In a room that ticks; it lets the player in with its next tick.
    Room {
        /// The room.
        room: RoomHandle,
        /// The connection's end of the two queues.
        link: ConnectionEndpoint,
    },
    /// In a room that only passes messages on.
    Relay(RelaySeat),
}

/// Fate of a message that was handed to a room.
pub(crate) enum Passed {
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
impl Place {
    /// Waits until the room lets the player in, or does not.
    pub(crate) fn poll_admission(&self, cx: &mut Context<'_>) -> Poll<Result<PlayerId, Rejection>> {
        let link = match self {
            Place::Room { link, .. } => link,
            Place::Relay(seat) => return Poll::Ready(Ok(seat.player())),
        };
        link.wake_by(cx.waker());
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
            Place::Room { room, .. } => room.settings().tick_hz,
            Place::Relay(_) => RELAY_TICK_HZ,
        }
    }

    /// Returns true if messages to the game come as often as inputs do elsewhere.
    pub(crate) fn is_relay(&self) -> bool {
        matches!(self, Place::Relay(_))
    }

    /// The room's last tick; zero where there is none.
    pub(crate) fn tick(&self) -> Tick {
        match self {
            Place::Room { room, .. } => room.figures().tick,
            Place::Relay(_) => Tick::ZERO,
        }
    }

    /// The room's schema as bytes, if it has one.
    pub(crate) fn schema_bytes(&self) -> Option<Vec<u8>> {
        match self {
            Place::Room { room, .. } => Some(room.schema().to_bytes()),
            Place::Relay(_) => None,
        }
    }

    /// A translator for a client that speaks in words, where the room speaks in bits.
    pub(crate) fn readable(&self, encoding: Encoding) -> Option<Box<Readable>> {
        match (self, encoding) {
            (Place::Room { room, .. }, Encoding::Json) => {
                Some(Box::new(Readable::new(room.schema(), room.settings().seconds_per_tick())))
            }
            _ => None,
        }
    }

    /// Adds to a welcome what there is to say of the room.
    pub(crate) fn complete(&self, welcome: Welcome) -> Welcome {
        let Place::Room { room, .. } = self else { return welcome };
        let settings = room.settings();
        let corner = |[x, y]: [f32; 2]| Vector2 { x, y };
        Welcome {
            tick_hz: settings.tick_hz,
            snapshot_hz: settings.snapshot_hz,
            server_tick: room.figures().tick.max(Tick(1)),
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
    pub(crate) fn push(&self, message: ClientMessage) -> Passed {
        match self {
            Place::Room { link, .. } => match link.push(message) {
                Ok(()) => Passed::Taken,
                Err(_) => Passed::Full,
            },
            Place::Relay(seat) => say(seat, message),
        }
    }

    /// Has this waker called when the room has something for the client.
    pub(crate) fn wake_by(&self, waker: &Waker) {
        match self {
            Place::Room { link, .. } => link.wake_by(waker),
            Place::Relay(seat) => seat.wake_by(waker),
        }
    }

    /// Returns true if the room has something for the client.
    pub(crate) fn has_news(&self) -> bool {
        match self {
            Place::Room { link, .. } => link.has_news(),
            Place::Relay(seat) => seat.has_news(),
        }
    }

    /// Returns the reason for which the room ended the connection, if it did.
    pub(crate) fn closing(&self) -> Option<&Closing> {
        match self {
            Place::Room { link, .. } => link.closing(),
            Place::Relay(seat) => seat.closing(),
        }
    }

    /// Queues what the room has for the client. Returns why the room ended the connection, if it did and all was said.
    pub(crate) fn fill<T: Transport>(&self, writer: &mut Writer<'_>, out: &mut Outgoing<'_, T>) -> Option<End> {
        match self {
            Place::Room { link, .. } => writer.fill_from_room(link, out),
            Place::Relay(seat) => writer.fill_from_relay(seat, out),
        }
    }
}

fn say(seat: &RelaySeat, message: ClientMessage) -> Passed {
    match message {
        ClientMessage::Game(GameMessage { seq, body: GameBody::Packed { code, payload } }) => {
            let result = seat.say(code, &payload);
            if seq == CommandSeq(0) && result.is_ok() {
                return Passed::Taken;
            }
            let error = result.err().map(|refusal| CommandError { code: refusal.code, message: refusal.message });
            Passed::Answered(ServerMessage::Ack(Ack { seq, error }))
        }
        ClientMessage::Leave => Passed::Left,
        _ => Passed::OutOfPlace,
    }
}
