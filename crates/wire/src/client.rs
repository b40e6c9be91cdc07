//! Messages from a client to the server.

use serde::{Deserialize, Serialize};

use crate::Vector2;
use crate::ack::StateAck;
use crate::check;
use crate::error::DecodeError;
use crate::fragment::Fragment;
use crate::game::GameMessage;
use crate::ids::{ClientTime, CommandSeq, EntityId, InputSeq, RoomId, SchemaHash, Tick};
use crate::input::Inputs;
use crate::metadata::JoinMetadata;
use crate::token::Token;

/// Every message from a client to the server.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientMessage {
    /// Credentials and room. It must be the first message.
    Hello(Hello),
    /// Inputs, with the acknowledgement of state packets.
    Inputs(Inputs),
    /// Acknowledgement of state packets, from a client without inputs to send.
    Ack(StateAck),
    /// Requests a pong, on the unreliable path.
    Ping(Ping),
    /// Shows that the client is alive.
    Heartbeat,
    /// Message to the game.
    Game(GameMessage),
    /// Movement feature: requests to move an entity by a distance.
    MovementDelta(MovementDelta),
    /// Movement feature: requests to enter the world.
    SpawnRequest(SpawnRequest),
    /// Playground: spawns one entity. Needs a permission.
    PlaygroundSpawn(PlaygroundSpawn),
    /// Playground: clears the world. Needs a permission.
    PlaygroundClear(PlaygroundClear),
    /// Playground: spawns many entities. Needs a permission.
    PlaygroundStress(PlaygroundStress),
    /// Requests the system manifest.
    ManifestRequest,
    /// Requests the schema of the room's game.
    SchemaRequest,
    /// Leaves the room. The player is removed at once and cannot resume.
    Leave,
    /// Part of a message that is too large for one packet.
    Fragment(Fragment),
}

impl ClientMessage {
    /// Names of all messages, in the order of their protobuf numbers.
    pub const NAMES: [&'static str; 15] = [
        "hello",
        "inputs",
        "ack",
        "ping",
        "heartbeat",
        "game",
        "movement_delta",
        "spawn_request",
        "playground_spawn",
        "playground_clear",
        "playground_stress",
        "manifest_request",
        "schema_request",
        "leave",
        "fragment",
    ];

    /// Name of the message, as in metrics and `WIRE_FORMAT.md`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            ClientMessage::Hello(_) => "hello",
            ClientMessage::Inputs(_) => "inputs",
            ClientMessage::Ack(_) => "ack",
            ClientMessage::Ping(_) => "ping",
            ClientMessage::Heartbeat => "heartbeat",
            ClientMessage::Game(_) => "game",
            ClientMessage::MovementDelta(_) => "movement_delta",
            ClientMessage::SpawnRequest(_) => "spawn_request",
            ClientMessage::PlaygroundSpawn(_) => "playground_spawn",
            ClientMessage::PlaygroundClear(_) => "playground_clear",
            ClientMessage::PlaygroundStress(_) => "playground_stress",
            ClientMessage::ManifestRequest => "manifest_request",
            ClientMessage::SchemaRequest => "schema_request",
            ClientMessage::Leave => "leave",
            ClientMessage::Fragment(_) => "fragment",
        }
    }
}

/// First message of a connection. On the wire it also carries the protocol version, which decoding checks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// Access token of a session. Absent if the resume token is used instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// Room to join. Absent if the address or the resume token names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<RoomSelector>,
    /// Resumes the same player after a lost connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_token: Option<Token>,
    /// Schema that the client already has.
    #[serde(default, rename = "schema", skip_serializing_if = "Option::is_none")]
    pub schema_hash: Option<SchemaHash>,
    /// Texts for the game, which reads them at the join. A resumed player keeps those of its join.
    #[serde(default, skip_serializing_if = "JoinMetadata::is_empty")]
    pub metadata: JoinMetadata,
}

impl Hello {
    /// Checks it as a server does.
    ///
    /// # Errors
    /// If a server would reject it, as for metadata that is too long.
    pub fn check(&self) -> Result<(), DecodeError> {
        check::hello(self)
    }
}

/// Selects a room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RoomSelector {
    /// Room with this id.
    Id(RoomId),
    /// Room with this room code.
    Code(String),
    /// Any room of a type that is not full.
    Type {
        /// Name of the room type.
        name: String,
        /// Restricts the choice to rooms with this label.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// New private room of a type. It is absent from lists, and others join it by id or code.
    NewPrivate {
        /// Name of the room type.
        name: String,
        /// Label of the room.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
}

/// Requests a pong, from which the client computes round-trip time, jitter and clock offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ping {
    /// Time of sending. The pong returns it.
    #[serde(skip)]
    pub client_time: ClientTime,
    /// Current tick of the server as estimated by the client.
    pub tick: Tick,
}

/// Requests to move an entity by a distance. The server checks it against the movement rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MovementDelta {
    /// Entity to move. It must be the possessed one.
    pub entity: EntityId,
    /// Number of this request, counted with the inputs.
    #[serde(skip)]
    pub seq: InputSeq,
    /// Distance to the right.
    pub dx: f32,
    /// Distance upwards.
    pub dy: f32,
    /// Time of the request.
    #[serde(skip)]
    pub client_time: ClientTime,
}

/// Requests to enter the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpawnRequest {
    /// Number of the command, which the answer repeats.
    #[serde(skip)]
    pub seq: CommandSeq,
    /// Preferred position. The game decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Vector2>,
}

/// Spawns one entity that the caller owns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaygroundSpawn {
    /// Number of the command, which the answer repeats.
    #[serde(skip)]
    pub seq: CommandSeq,
    /// Kind of entity, by its name in the game.
    pub kind: String,
    /// Position to the right.
    pub x: f32,
    /// Position upwards.
    pub y: f32,
    /// Rotation counter-clockwise, in radians.
    pub rotation: f32,
}

/// Clears the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaygroundClear {
    /// Number of the command, which the answer repeats.
    #[serde(skip)]
    pub seq: CommandSeq,
}

/// Spawns many entities, as a stress test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaygroundStress {
    /// Number of the command, which the answer repeats.
    #[serde(skip)]
    pub seq: CommandSeq,
    /// Number of entities. The engine rejects more than [`crate::limits::STRESS_ENTITIES_MAX`].
    pub count: u32,
    /// True if the entities rotate.
    pub rotate: bool,
}
