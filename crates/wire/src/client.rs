//! What a client says to the server.

use serde::{Deserialize, Serialize};

use crate::Vector2;
use crate::ack::StateAck;
use crate::fragment::Fragment;
use crate::game::GameMessage;
use crate::ids::{ClientTime, CommandSeq, EntityId, InputSeq, RoomId, SchemaHash, Tick};
use crate::input::Inputs;
use crate::token::Token;

/// Every message from a client to the server.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientMessage {
    /// Who is there, and which room is meant. Nothing else is accepted before it.
    Hello(Hello),
    /// Inputs with the acknowledgement of state.
    Inputs(Inputs),
    /// The acknowledgement of state alone, from a client that has no input to send.
    Ack(StateAck),
    /// Asks for a pong, by the unreliable path.
    Ping(Ping),
    /// Says that the client is still there.
    Heartbeat,
    /// A message to the game.
    Game(GameMessage),
    /// Movement feature: a wish to move an entity by a distance.
    MovementDelta(MovementDelta),
    /// Movement feature: a wish to enter the world.
    SpawnRequest(SpawnRequest),
    /// Playground: spawn one entity. Needs a permission.
    PlaygroundSpawn(PlaygroundSpawn),
    /// Playground: clear the world. Needs a permission.
    PlaygroundClear(PlaygroundClear),
    /// Playground: spawn many entities. Needs a permission.
    PlaygroundStress(PlaygroundStress),
    /// Asks for the system manifest.
    ManifestRequest,
    /// Asks for the schema of the room's game.
    SchemaRequest,
    /// Leaves the room for good: the player does not wait for a resume.
    Leave,
    /// A part of a message that is too large for one packet.
    Fragment(Fragment),
}

impl ClientMessage {
    /// The names of all messages, in the order of their protobuf numbers.
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

    /// The message's name, as metrics and `WIRE_FORMAT.md` write it.
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

/// The first message of a connection. The protocol version goes with it on the wire and is
/// checked there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// The access token of a login; absent when the resume token stands for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// The room to join; absent when the address or the resume token names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<RoomSelector>,
    /// Comes back to the same player after a lost connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_token: Option<Token>,
    /// The schema that the client has at hand.
    #[serde(default, rename = "schema", skip_serializing_if = "Option::is_none")]
    pub schema_hash: Option<SchemaHash>,
}

/// How a client says which room it means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RoomSelector {
    /// This very room.
    Id(RoomId),
    /// The room with this short code.
    Code(String),
    /// Any room of a type that has a place left.
    Type {
        /// The room type's name.
        name: String,
        /// Only rooms with this label.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
}

/// Asks for a pong, from which the client learns round-trip time, jitter and clock offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ping {
    /// When the ping was sent; the pong hands it back.
    #[serde(skip)]
    pub client_time: ClientTime,
    /// The tick that the client believes the server is at.
    pub tick: Tick,
}

/// A wish to move an entity by a distance, checked against what the entity is able to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MovementDelta {
    /// The entity to move; it must be the player's own.
    pub entity: EntityId,
    /// The number of this wish, counted with the inputs.
    #[serde(skip)]
    pub seq: InputSeq,
    /// The distance to the right.
    pub dx: f32,
    /// The distance upwards.
    pub dy: f32,
    /// When the wish was made.
    #[serde(skip)]
    pub client_time: ClientTime,
}

/// A wish to enter the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpawnRequest {
    /// The number that the answer will name.
    #[serde(skip)]
    pub seq: CommandSeq,
    /// Where the player would like to be; the game decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<Vector2>,
}

/// Spawns one entity that belongs to the caller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaygroundSpawn {
    /// The number that the answer will name.
    #[serde(skip)]
    pub seq: CommandSeq,
    /// The kind of entity, by the name that the game gave it.
    pub kind: String,
    /// Where to the right.
    pub x: f32,
    /// Where upwards.
    pub y: f32,
    /// Counter-clockwise, in radians.
    pub rotation: f32,
}

/// Clears the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaygroundClear {
    /// The number that the answer will name.
    #[serde(skip)]
    pub seq: CommandSeq,
}

/// Spawns many entities to see what the server bears.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaygroundStress {
    /// The number that the answer will name.
    #[serde(skip)]
    pub seq: CommandSeq,
    /// How many; the engine refuses more than [`crate::limits::STRESS_ENTITIES_MAX`].
    pub count: u32,
    /// Whether they turn.
    pub rotate: bool,
}
