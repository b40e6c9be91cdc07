//! Messages from the server to a client.

use serde::{Deserialize, Serialize};

use crate::Vector2;
use crate::code::{CloseReason, ErrorCode};
use crate::fragment::Fragment;
use crate::game::GameBody;
use crate::ids::{
    ClientTime, CommandSeq, ConnectionId, EntityId, InputSeq, PlayerId, RoomId, SchemaHash, SessionId, Tick,
};
use crate::snapshot::Snapshot;
use crate::token::Token;

/// Every message from the server to a client.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerMessage {
    /// The client has joined a room.
    Welcome(Welcome),
    /// State of the world, full or as a delta.
    Snapshot(Snapshot),
    /// Event of the game. It is applied before the state of its tick.
    Event(Event),
    /// The player controls an entity.
    Possession(Possession),
    /// State of the possessed entity that differs from the prediction of the client.
    Correction(Correction),
    /// Answer to a command.
    Ack(Ack),
    /// Answer to a ping.
    Pong(Pong),
    /// A request was rejected or failed.
    Error(ErrorNotice),
    /// System manifest.
    Manifest(Manifest),
    /// Schema of the room's game, in its own encoding.
    Schema(Vec<u8>),
    /// The world was cleared. The client starts again as after a join.
    Cleared(Cleared),
    /// The server is about to close this connection.
    Closing(Closing),
    /// Part of a message that is too large for one packet.
    Fragment(Fragment),
}

impl ServerMessage {
    /// Names of all messages, in the order of their protobuf numbers.
    pub const NAMES: [&'static str; 13] = [
        "welcome",
        "snapshot",
        "event",
        "possession",
        "correction",
        "ack",
        "pong",
        "error",
        "manifest",
        "schema",
        "cleared",
        "closing",
        "fragment",
    ];

    /// Returns true for reliable messages that belong to a tick: events, possessions and clearings. They are applied
    /// before the state of their tick; [`StatePacket::after`](crate::StatePacket::after) counts them.
    #[must_use]
    pub fn is_tick_message(&self) -> bool {
        matches!(self, ServerMessage::Event(_) | ServerMessage::Possession(_) | ServerMessage::Cleared(_))
    }

    /// Name of the message, as in metrics, in `kind` of the JSON envelope and in `WIRE_FORMAT.md`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            ServerMessage::Welcome(_) => "welcome",
            ServerMessage::Snapshot(_) => "snapshot",
            ServerMessage::Event(_) => "event",
            ServerMessage::Possession(_) => "possession",
            ServerMessage::Correction(_) => "correction",
            ServerMessage::Ack(_) => "ack",
            ServerMessage::Pong(_) => "pong",
            ServerMessage::Error(_) => "error",
            ServerMessage::Manifest(_) => "manifest",
            ServerMessage::Schema(_) => "schema",
            ServerMessage::Cleared(_) => "cleared",
            ServerMessage::Closing(_) => "closing",
            ServerMessage::Fragment(_) => "fragment",
        }
    }
}

/// Description of the room that a client joined. On the wire it also carries the protocol version, which decoding
/// checks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Welcome {
    /// Player of the client.
    pub player: PlayerId,
    /// The room.
    pub room: RoomId,
    /// Session of the account.
    pub session: SessionId,
    /// This connection.
    pub connection: ConnectionId,
    /// Room code.
    pub room_code: String,
    /// Ticks per second.
    pub tick_hz: u32,
    /// Snapshots per second.
    pub snapshot_hz: u32,
    /// Current tick of the server.
    pub server_tick: Tick,
    /// Bounds of the world and interest radius.
    pub world: WorldParameters,
    /// Hash of the game schema.
    #[serde(rename = "schema")]
    pub schema_hash: SchemaHash,
    /// Allows one resume. Absent if the room does not support resume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_token: Option<Token>,
}

/// Bounds of the world and interest radius.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorldParameters {
    /// Lower left corner.
    pub min: Vector2,
    /// Upper right corner.
    pub max: Vector2,
    /// Distance at which entities become visible.
    pub interest_radius: f32,
}

/// Event of the game.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Tick of the event. It is applied before the state of this tick.
    pub tick: Tick,
    /// Player that sent it, in a relay room.
    pub sender: Option<PlayerId>,
    /// Content of the event.
    pub body: GameBody,
}

/// The player controls an entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Possession {
    /// First tick of the possession.
    pub tick: Tick,
    /// Entity that receives the inputs of the player.
    pub entity: EntityId,
}

/// State of the possessed entity on the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Correction {
    /// The entity.
    pub entity: EntityId,
    /// Position.
    pub position: Vector2,
    /// Velocity.
    pub velocity: Vector2,
    /// Last input that this state includes. The client replays the later ones.
    pub ack_seq: InputSeq,
}

/// Answer to a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ack {
    /// Number of the command.
    #[serde(skip)]
    pub seq: CommandSeq,
    /// Error, absent if the command was executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<CommandError>,
}

/// Error of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandError {
    /// Code, for programs.
    pub code: ErrorCode,
    /// Sentence, for people.
    pub message: String,
}

/// Answer to a ping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pong {
    /// Time from the ping.
    #[serde(skip)]
    pub client_time: ClientTime,
    /// Tick from the ping.
    pub tick: Tick,
    /// Tick of the server at the answer.
    pub server_tick: Tick,
    /// Time that the ping spent in the server, in microseconds. It is not part of the network delay.
    pub hold_us: u32,
    /// Rung of the room's overload ladder; 0 is no overload.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overload_rung: u32,
    /// Slowdown of the room's time, in percent: with 25 it ticks at three quarters of its rate. 0 is normal.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slowdown_percent: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A request was rejected or failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorNotice {
    /// Code, for programs.
    pub code: ErrorCode,
    /// Sentence, for people.
    pub message: String,
    /// True if the server closes the connection.
    pub fatal: bool,
}

/// Description of the server. The optional numbers need a permission.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the server.
    pub version_server: String,
    /// Version of the protocol.
    pub version_protocol: u32,
    /// Ticks per second of the caller's room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_rate: Option<u32>,
    /// Clients connected to the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients_active: Option<u32>,
    /// Rooms on the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rooms_active: Option<u32>,
    /// Entities in the caller's room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entities_active: Option<u32>,
    /// Seconds since the server started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uptime_s: Option<u32>,
    /// Duration of a tick of the caller's room, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_us: Option<u32>,
}

/// The world was cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cleared {
    /// First tick of the empty world. The client discards state of earlier ticks.
    pub tick: Tick,
}

/// The server is about to close this connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Closing {
    /// Code, for programs.
    pub reason: CloseReason,
    /// Sentence, for people.
    pub text: String,
    /// Time until the connection is closed, in milliseconds.
    pub deadline_ms: u32,
    /// True if the resume token stays valid.
    pub may_resume: bool,
}
