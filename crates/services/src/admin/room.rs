//! Operations on rooms for operators, with their messages. All fields of answers are always present.

use crate::declare::{json_text, names, operations, optional_number};
use aether_messages::prost::{self, Message};
use serde::{Deserialize, Serialize};

/// Names a room.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct RoomRequest {
    /// Id of the room.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub room: String,
}

/// Lists rooms.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ListRoomsRequest {
    /// State of the rooms: `running` or `stored`; empty for both.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// Maximum number of rooms, up to 100. Default: 20.
    #[prost(int32, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub limit: Option<i32>,
    /// Cursor of an earlier list, for the rooms after it.
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cursor: String,
}

/// Room to create.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct CreateRoomRequest {
    /// Room type.
    #[prost(string, tag = "1")]
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub room_type: String,
    /// Label.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// True for a private room, which is joined by id or code only.
    #[prost(bool, tag = "3")]
    pub private: bool,
    /// True to record the room from its first tick.
    #[prost(bool, tag = "4")]
    pub record: bool,
}

/// Room as operators see it.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownRoom {
    /// Id.
    #[prost(string, tag = "1")]
    pub id: String,
    /// Room code.
    #[prost(string, tag = "2")]
    pub code: String,
    /// Room type.
    #[prost(string, tag = "3")]
    #[serde(rename = "type")]
    pub room_type: String,
    /// Label.
    #[prost(string, tag = "4")]
    pub label: String,
    /// State: `running` here, `stored`, `opening` or `unloading` here, or `elsewhere` on another node.
    #[prost(string, tag = "5")]
    pub state: String,
    /// Node that runs the room, or ran it last; empty if it is not known.
    #[prost(string, tag = "6")]
    pub node: String,
    /// Number of the lease of a durable room; 0 for other rooms.
    #[prost(uint32, tag = "7")]
    pub epoch: u32,
    /// True if the room is joined by id or code only.
    #[prost(bool, tag = "8")]
    pub private: bool,
    /// True if the state of the room is stored.
    #[prost(bool, tag = "9")]
    pub durable: bool,
    /// True while the room is recorded.
    #[prost(bool, tag = "10")]
    pub recorded: bool,
    /// Number of players.
    #[prost(uint32, tag = "11")]
    pub players: u32,
    /// Maximum number of players; 0 if the room type is unknown.
    #[prost(uint32, tag = "12")]
    pub players_max: u32,
    /// Number of entities.
    #[prost(uint32, tag = "13")]
    pub entities: u32,
    /// Current tick, or the last stored one.
    #[prost(uint32, tag = "14")]
    pub tick: u32,
    /// Ticks per second; 0 for a relay.
    #[prost(uint32, tag = "15")]
    pub tick_hz: u32,
    /// Bytes of the stored state.
    #[prost(uint32, tag = "16")]
    pub bytes: u32,
    /// Creation time of a durable room, by RFC 3339.
    #[prost(string, tag = "17")]
    pub create_time: String,
    /// Time of the last write of a durable room, by RFC 3339.
    #[prost(string, tag = "18")]
    pub write_time: String,
}

/// Rooms: running ones, the oldest first, then stored ones, the last written first.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct RoomList {
    /// Rooms.
    #[prost(message, repeated, tag = "1")]
    pub rooms: Vec<ShownRoom>,
    /// Cursor for further rooms; empty at the end.
    #[prost(string, tag = "2")]
    pub cursor: String,
}

/// Stored checkpoint of a room.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownCheckpoint {
    /// Number: 0 for the latest, otherwise increasing with time.
    #[prost(uint32, tag = "1")]
    pub number: u32,
    /// Tick of the state.
    #[prost(uint32, tag = "2")]
    pub tick: u32,
    /// Number of players.
    #[prost(uint32, tag = "3")]
    pub players: u32,
    /// Number of entities.
    #[prost(uint32, tag = "4")]
    pub entities: u32,
    /// Bytes of the state.
    #[prost(uint32, tag = "5")]
    pub bytes: u32,
    /// Time of the checkpoint, by RFC 3339.
    #[prost(string, tag = "6")]
    pub time: String,
}

/// Room with its stored checkpoints.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct RoomDetail {
    /// The room.
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<ShownRoom>,
    /// Stored checkpoints, the oldest first.
    #[prost(message, repeated, tag = "2")]
    pub checkpoints: Vec<ShownCheckpoint>,
}

/// Lists entities of a room.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ListRoomEntitiesRequest {
    /// Id of the room.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub room: String,
    /// Number of a stored checkpoint. Default: the running room, or the latest checkpoint of a stored one.
    #[prost(int32, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub checkpoint: Option<i32>,
    /// Maximum number of entities, up to 1000. Default: 100.
    #[prost(int32, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub limit: Option<i32>,
    /// Cursor of an earlier list, for the entities after it.
    #[prost(string, tag = "4")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cursor: String,
}

/// Entity of a room.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownEntity {
    /// Slot and generation.
    #[prost(string, tag = "1")]
    pub id: String,
    /// Player who owns it; 0 for none.
    #[prost(uint32, tag = "2")]
    pub owner: u32,
    /// Components by name, each with its fields by name.
    #[prost(string, tag = "3")]
    #[serde(with = "json_text")]
    pub components: String,
}

/// Entities of a room, in the order of their slots.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct RoomEntityList {
    /// Source: `running` or `checkpoint`.
    #[prost(string, tag = "1")]
    pub source: String,
    /// Tick of the state.
    #[prost(uint32, tag = "2")]
    pub tick: u32,
    /// Number of entities in the room.
    #[prost(uint32, tag = "3")]
    pub total: u32,
    /// Entities.
    #[prost(message, repeated, tag = "4")]
    pub entities: Vec<ShownEntity>,
    /// Cursor for further entities; empty at the end.
    #[prost(string, tag = "5")]
    pub cursor: String,
}

/// Data of a signal, or the reply of the game.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct SignalData {
    /// Bytes in base64.
    #[prost(string, tag = "1")]
    pub data: String,
}

/// Sends a signal to the game of a room.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct SignalRoomRequest {
    /// Id of the room.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub room: String,
    /// Data of the signal.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<SignalData>,
}

/// Request without fields.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct NoRequest {}

/// Recording of a room.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownRecording {
    /// Name of the file in the folder of recordings.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Id of the room, if the recording is of this run of the server.
    #[prost(string, tag = "2")]
    pub room: String,
    /// State: `running`, `stopped`, `room_ended`, `too_slow`, `full` or `failed`; `file` for one of an earlier run.
    #[prost(string, tag = "3")]
    pub state: String,
    /// First tick; 0 if it is not known.
    #[prost(uint32, tag = "4")]
    pub first_tick: u32,
    /// Last tick so far; 0 if it is not known.
    #[prost(uint32, tag = "5")]
    pub last_tick: u32,
    /// Bytes so far.
    #[prost(uint32, tag = "6")]
    pub bytes: u32,
    /// Reason why a recording ended early.
    #[prost(string, tag = "7")]
    pub error: String,
}

/// Recordings, the newest first.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct RecordingList {
    /// Recordings.
    #[prost(message, repeated, tag = "1")]
    pub recordings: Vec<ShownRecording>,
    /// Folder of the files on the server.
    #[prost(string, tag = "2")]
    pub folder: String,
}

/// State of the drain.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownDrain {
    /// True while the server takes no new rooms and joins.
    #[prost(bool, tag = "1")]
    pub draining: bool,
    /// Seconds since the drain began.
    #[prost(uint32, tag = "2")]
    pub seconds: u32,
    /// Number of running rooms.
    #[prost(uint32, tag = "3")]
    pub rooms: u32,
    /// Number of players in them.
    #[prost(uint32, tag = "4")]
    pub players: u32,
}

names! {
    CreateRoomRequest ListRoomEntitiesRequest ListRoomsRequest NoRequest RecordingList RoomDetail RoomEntityList RoomList RoomRequest ShownCheckpoint ShownDrain ShownEntity ShownRecording ShownRoom SignalData SignalRoomRequest
}

operations! {
    /// Lists running and stored rooms.
    ListRooms: ListRoomsRequest => RoomList,
    /// Creates a room.
    CreateRoom: CreateRoomRequest => ShownRoom,
    /// Returns a room with its stored checkpoints.
    GetRoom: RoomRequest => RoomDetail,
    /// Lists entities of a room with their components.
    ListRoomEntities: ListRoomEntitiesRequest => RoomEntityList,
    /// Opens a stored room.
    WakeRoom: RoomRequest => ShownRoom,
    /// Sends a signal to the game of a room and returns its reply.
    SignalRoom: SignalRoomRequest => SignalData,
    /// Ends a room. A durable room is stored and unloaded.
    EndRoom: RoomRequest => ShownRoom,
    /// Begins to record a running room.
    StartRoomRecording: RoomRequest => ShownRecording,
    /// Ends the recording of a room.
    StopRoomRecording: RoomRequest => ShownRecording,
    /// Lists recordings.
    ListRecordings: NoRequest => RecordingList,
    /// Returns the state of the drain.
    GetDrain: NoRequest => ShownDrain,
    /// Begins a drain: no new rooms and joins.
    StartDrain: NoRequest => ShownDrain,
    /// Ends a drain.
    StopDrain: NoRequest => ShownDrain,
}
