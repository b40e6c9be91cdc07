//! Protobuf structures, as in `proto/aether.proto`.
//!
//! Zero numbers and empty texts take no byte. Fields of frequent messages have numbers below 16, whose tags take one
//! byte.

use prost::{Message, Oneof};

/// First byte of a frame with a state packet: field 2, length-delimited.
pub(super) const SNAPSHOT_TAG: u8 = 2 << 3 | 2;

/// Tag of the number of messages before a state packet.
pub(super) const AFTER_TAG: u32 = 16;

#[derive(Clone, PartialEq, Message)]
pub(super) struct ClientFrame {
    #[prost(oneof = "Client", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15")]
    pub message: Option<Client>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Client {
    #[prost(message, tag = "1")]
    Hello(Hello),
    #[prost(message, tag = "2")]
    Inputs(Inputs),
    #[prost(message, tag = "3")]
    Ack(StateAck),
    #[prost(message, tag = "4")]
    Ping(Ping),
    #[prost(message, tag = "5")]
    Heartbeat(Empty),
    #[prost(message, tag = "6")]
    Game(Game),
    #[prost(message, tag = "7")]
    MovementDelta(MovementDelta),
    #[prost(message, tag = "8")]
    SpawnRequest(SpawnRequest),
    #[prost(message, tag = "9")]
    PlaygroundSpawn(PlaygroundSpawn),
    #[prost(message, tag = "10")]
    PlaygroundClear(PlaygroundClear),
    #[prost(message, tag = "11")]
    PlaygroundStress(PlaygroundStress),
    #[prost(message, tag = "12")]
    ManifestRequest(Empty),
    #[prost(message, tag = "13")]
    SchemaRequest(Empty),
    #[prost(message, tag = "14")]
    Leave(Empty),
    #[prost(message, tag = "15")]
    Fragment(Fragment),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ServerFrame {
    #[prost(oneof = "Server", tags = "1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15")]
    pub message: Option<Server>,
    #[prost(uint32, tag = "16")]
    pub after: u32,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Server {
    #[prost(message, tag = "1")]
    Welcome(Welcome),
    #[prost(bytes, tag = "2")]
    Snapshot(Vec<u8>),
    #[prost(message, tag = "3")]
    Event(Event),
    #[prost(message, tag = "4")]
    Possession(Possession),
    #[prost(message, tag = "5")]
    Correction(Correction),
    #[prost(message, tag = "6")]
    Ack(CommandAck),
    #[prost(message, tag = "7")]
    Pong(Pong),
    #[prost(message, tag = "8")]
    Error(ErrorNotice),
    #[prost(message, tag = "11")]
    Manifest(Manifest),
    #[prost(bytes, tag = "12")]
    Schema(Vec<u8>),
    #[prost(message, tag = "13")]
    Cleared(Cleared),
    #[prost(message, tag = "14")]
    Closing(Closing),
    #[prost(message, tag = "15")]
    Fragment(Fragment),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Empty {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Hello {
    #[prost(uint32, tag = "1")]
    pub protocol: u32,
    #[prost(string, optional, tag = "2")]
    pub token: Option<String>,
    #[prost(oneof = "Room", tags = "3, 4, 5, 8")]
    pub room: Option<Room>,
    #[prost(string, optional, tag = "6")]
    pub resume_token: Option<String>,
    #[prost(fixed64, optional, tag = "7")]
    pub schema_hash: Option<u64>,
    #[prost(message, repeated, tag = "9")]
    pub metadata: Vec<MetadataEntry>,
}

/// Entry of a protobuf map. A map field would hide repeated keys.
#[derive(Clone, PartialEq, Message)]
pub(super) struct MetadataEntry {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Room {
    #[prost(string, tag = "3")]
    Id(String),
    #[prost(string, tag = "4")]
    Code(String),
    #[prost(message, tag = "5")]
    Type(RoomType),
    #[prost(message, tag = "8")]
    NewPrivate(RoomType),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RoomType {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, optional, tag = "2")]
    pub label: Option<String>,
}

/// One field contains all inputs, each after a byte with its length. A list of byte fields would need a tag for each,
/// and an allocation for each when read.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Inputs {
    #[prost(uint32, tag = "1")]
    pub first_seq: u32,
    #[prost(bytes = "vec", tag = "2")]
    pub inputs: Vec<u8>,
    #[prost(uint32, tag = "3")]
    pub ack_latest: u32,
    #[prost(uint64, tag = "4")]
    pub ack_missing: u64,
    #[prost(uint64, tag = "5")]
    pub view: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StateAck {
    #[prost(uint32, tag = "1")]
    pub latest: u32,
    #[prost(uint64, tag = "2")]
    pub missing: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Ping {
    #[prost(uint64, tag = "1")]
    pub client_time_us: u64,
    #[prost(uint32, tag = "2")]
    pub tick: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Game {
    #[prost(uint32, tag = "1")]
    pub seq: u32,
    #[prost(uint32, tag = "2")]
    pub code: u32,
    #[prost(bytes = "vec", tag = "3")]
    pub payload: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MovementDelta {
    #[prost(uint64, tag = "1")]
    pub entity: u64,
    #[prost(uint32, tag = "2")]
    pub seq: u32,
    #[prost(float, tag = "3")]
    pub dx: f32,
    #[prost(float, tag = "4")]
    pub dy: f32,
    #[prost(uint64, tag = "5")]
    pub client_time_us: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Vector2 {
    #[prost(float, tag = "1")]
    pub x: f32,
    #[prost(float, tag = "2")]
    pub y: f32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SpawnRequest {
    #[prost(uint32, tag = "1")]
    pub seq: u32,
    #[prost(message, optional, tag = "2")]
    pub position: Option<Vector2>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PlaygroundSpawn {
    #[prost(uint32, tag = "1")]
    pub seq: u32,
    #[prost(string, tag = "2")]
    pub kind: String,
    #[prost(float, tag = "3")]
    pub x: f32,
    #[prost(float, tag = "4")]
    pub y: f32,
    #[prost(float, tag = "5")]
    pub rotation: f32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PlaygroundClear {
    #[prost(uint32, tag = "1")]
    pub seq: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PlaygroundStress {
    #[prost(uint32, tag = "1")]
    pub seq: u32,
    #[prost(uint32, tag = "2")]
    pub count: u32,
    #[prost(bool, tag = "3")]
    pub rotate: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Fragment {
    #[prost(uint32, tag = "1")]
    pub message: u32,
    #[prost(uint32, tag = "2")]
    pub index: u32,
    #[prost(uint32, tag = "3")]
    pub total: u32,
    #[prost(bytes = "vec", tag = "4")]
    pub bytes: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Welcome {
    #[prost(uint32, tag = "1")]
    pub protocol: u32,
    #[prost(uint32, tag = "2")]
    pub player: u32,
    #[prost(string, tag = "3")]
    pub room: String,
    #[prost(bytes = "vec", tag = "4")]
    pub session: Vec<u8>,
    #[prost(uint64, tag = "5")]
    pub connection: u64,
    #[prost(string, tag = "6")]
    pub room_code: String,
    #[prost(uint32, tag = "7")]
    pub tick_hz: u32,
    #[prost(uint32, tag = "8")]
    pub snapshot_hz: u32,
    #[prost(uint32, tag = "9")]
    pub server_tick: u32,
    #[prost(message, optional, tag = "10")]
    pub world: Option<World>,
    #[prost(fixed64, tag = "11")]
    pub schema_hash: u64,
    #[prost(string, optional, tag = "12")]
    pub resume_token: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct World {
    #[prost(message, optional, tag = "1")]
    pub min: Option<Vector2>,
    #[prost(message, optional, tag = "2")]
    pub max: Option<Vector2>,
    #[prost(float, tag = "3")]
    pub interest_radius: f32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Event {
    #[prost(uint32, tag = "1")]
    pub tick: u32,
    #[prost(uint32, tag = "2")]
    pub code: u32,
    #[prost(bytes = "vec", tag = "3")]
    pub payload: Vec<u8>,
    #[prost(uint32, optional, tag = "4")]
    pub sender: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Possession {
    #[prost(uint32, tag = "1")]
    pub tick: u32,
    #[prost(uint64, tag = "2")]
    pub entity: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Correction {
    #[prost(uint64, tag = "1")]
    pub entity: u64,
    #[prost(message, optional, tag = "2")]
    pub position: Option<Vector2>,
    #[prost(message, optional, tag = "3")]
    pub velocity: Option<Vector2>,
    #[prost(uint32, tag = "4")]
    pub ack_seq: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CommandAck {
    #[prost(uint32, tag = "1")]
    pub seq: u32,
    #[prost(message, optional, tag = "2")]
    pub error: Option<CommandError>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CommandError {
    #[prost(uint32, tag = "1")]
    pub code: u32,
    #[prost(string, tag = "2")]
    pub message: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Pong {
    #[prost(uint64, tag = "1")]
    pub client_time_us: u64,
    #[prost(uint32, tag = "2")]
    pub tick: u32,
    #[prost(uint32, tag = "3")]
    pub server_tick: u32,
    #[prost(uint32, tag = "4")]
    pub hold_us: u32,
    #[prost(uint32, tag = "5")]
    pub overload_rung: u32,
    #[prost(uint32, tag = "6")]
    pub slowdown_percent: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ErrorNotice {
    #[prost(uint32, tag = "1")]
    pub code: u32,
    #[prost(string, tag = "2")]
    pub message: String,
    #[prost(bool, tag = "3")]
    pub fatal: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Manifest {
    #[prost(string, tag = "1")]
    pub version_server: String,
    #[prost(uint32, tag = "2")]
    pub version_protocol: u32,
    #[prost(uint32, optional, tag = "3")]
    pub tick_rate: Option<u32>,
    #[prost(uint32, optional, tag = "4")]
    pub clients_active: Option<u32>,
    #[prost(uint32, optional, tag = "5")]
    pub rooms_active: Option<u32>,
    #[prost(uint32, optional, tag = "6")]
    pub entities_active: Option<u32>,
    #[prost(uint32, optional, tag = "7")]
    pub uptime_s: Option<u32>,
    #[prost(uint32, optional, tag = "8")]
    pub tick_us: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Cleared {
    #[prost(uint32, tag = "1")]
    pub tick: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Closing {
    #[prost(uint32, tag = "1")]
    pub reason: u32,
    #[prost(string, tag = "2")]
    pub text: String,
    #[prost(uint32, tag = "3")]
    pub deadline_ms: u32,
    #[prost(bool, tag = "4")]
    pub may_resume: bool,
}
