//! What the server says to a client.

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
    /// The state of the world, or what changed of it.
    Snapshot(Snapshot),
    /// Something happened in the game. It is applied before the state of its tick.
    Event(Event),
    /// The player now steers an entity.
    Possession(Possession),
    /// The player's own entity is elsewhere than the client believes.
    Correction(Correction),
    /// The answer to a command.
    Ack(Ack),
    /// The answer to a ping.
    Pong(Pong),
    /// Something was refused or went wrong.
    Error(ErrorNotice),
    /// Entities came into the player's view.
    InterestEnter(InterestEnter),
    /// Entities left the player's view.
    InterestLeave(InterestLeave),
    /// The system manifest.
    Manifest(Manifest),
    /// The schema of the room's game, in its own encoding.
    Schema(Vec<u8>),
    /// The world was cleared; what follows is a clean re-join.
    Cleared(Cleared),
    /// The server is about to close this connection.
    Closing(Closing),
    /// A part of a message that is too large for one packet.
    Fragment(Fragment),
}

impl ServerMessage {
    /// The names of all messages, in the order of their protobuf numbers.
    pub const NAMES: [&'static str; 15] = [
        "welcome",
        "snapshot",
        "event",
        "possession",
        "correction",
        "ack",
        "pong",
        "error",
        "interest_enter",
        "interest_leave",
        "manifest",
        "schema",
        "cleared",
        "closing",
        "fragment",
    ];

    /// The message's name, as metrics, the JSON envelope's `kind` and `WIRE_FORMAT.md` write it.
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
            ServerMessage::InterestEnter(_) => "interest_enter",
            ServerMessage::InterestLeave(_) => "interest_leave",
            ServerMessage::Manifest(_) => "manifest",
            ServerMessage::Schema(_) => "schema",
            ServerMessage::Cleared(_) => "cleared",
            ServerMessage::Closing(_) => "closing",
            ServerMessage::Fragment(_) => "fragment",
        }
    }
}

/// What a client needs to know about the room it joined. The protocol version goes with it on
/// the wire and is checked there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Welcome {
    /// The player of this room that the client is.
    pub player: PlayerId,
    /// The room.
    pub room: RoomId,
    /// The account's session.
    pub session: SessionId,
    /// This connection.
    pub connection: ConnectionId,
    /// The room's short code.
    pub room_code: String,
    /// Simulation steps a second.
    pub tick_hz: u32,
    /// Snapshots a second.
    pub snapshot_hz: u32,
    /// The tick that the server is at.
    pub server_tick: Tick,
    /// The world's size and how far a player sees.
    pub world: WorldParameters,
    /// What the game's components and inputs look like.
    #[serde(rename = "schema")]
    pub schema_hash: SchemaHash,
    /// Good for coming back once; absent when the room does not allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_token: Option<Token>,
}

/// The world's size and how far a player sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorldParameters {
    /// The lower left corner.
    pub min: Vector2,
    /// The upper right corner.
    pub max: Vector2,
    /// How far a player sees.
    pub interest_radius: f32,
}

/// Something that happened in the game.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When it happened. It is applied before the state of this tick.
    pub tick: Tick,
    /// The player who said it, where players speak to each other through a relay room.
    pub sender: Option<PlayerId>,
    /// What happened.
    pub body: GameBody,
}

/// The player now steers an entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Possession {
    /// Since when.
    pub tick: Tick,
    /// The entity that the player's inputs go to.
    pub entity: EntityId,
}

/// Where the player's own entity really is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Correction {
    /// The entity.
    pub entity: EntityId,
    /// Where it is.
    pub position: Vector2,
    /// How fast it moves.
    pub velocity: Vector2,
    /// The last input that this takes into account; the client replays the later ones.
    pub ack_seq: InputSeq,
}

/// The answer to a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ack {
    /// The command's number.
    #[serde(skip)]
    pub seq: CommandSeq,
    /// Why it was refused; absent when it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<CommandError>,
}

/// Why a command was refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandError {
    /// For programs.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
}

/// The answer to a ping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pong {
    /// The ping's own time.
    #[serde(skip)]
    pub client_time: ClientTime,
    /// The ping's own tick.
    pub tick: Tick,
    /// The tick that the server was at.
    pub server_tick: Tick,
    /// How long the server held the ping, which is no part of the network's delay.
    pub hold_us: u32,
}

/// Something was refused or went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorNotice {
    /// For programs.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// Whether the connection ends with it.
    pub fatal: bool,
}

/// Entities that came into the player's view.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InterestEnter {
    /// When.
    pub tick: Tick,
    /// Which.
    pub entities: Vec<EntityId>,
}

/// Entities that left the player's view.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InterestLeave {
    /// When.
    pub tick: Tick,
    /// Which.
    pub entities: Vec<EntityId>,
}

/// What the server is. The optional figures are for those with permission.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The server's version.
    pub version_server: String,
    /// The protocol's version.
    pub version_protocol: u32,
    /// Simulation steps a second of the caller's room.
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
    /// What a tick of the caller's room takes, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_us: Option<u32>,
}

/// The world was cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cleared {
    /// The tick since which it is empty; state of earlier ticks is to be forgotten.
    pub tick: Tick,
}

/// The server is about to close this connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Closing {
    /// For programs.
    pub reason: CloseReason,
    /// For people.
    pub text: String,
    /// How long the connection still lasts.
    pub deadline_ms: u32,
    /// Whether the resume token will be good afterwards.
    pub may_resume: bool,
}
