//! Ids, protocol messages, fragments and named limits.
//!
//! [`ClientMessage`] and [`ServerMessage`] are all messages between client and server. Each is encoded as protobuf
//! (`encode`, `decode`) or as a JSON envelope (`encode_json`, `decode_json`). `WIRE_FORMAT.md` lists them with their
//! fields.
//!
//! ```
//! use aether_wire::{ClientMessage, ClientTime, Ping, Tick};
//!
//! let ping = ClientMessage::Ping(Ping { client_time: ClientTime(1_500), tick: Tick(7) });
//! let mut bytes = Vec::new();
//! ping.encode(&mut bytes)?;
//! assert_eq!(ClientMessage::decode(&bytes)?, ping);
//!
//! let mut json = Vec::new();
//! ping.encode_json(&mut json)?;
//! assert_eq!(json, br#"{"v":2,"kind":"ping","clientTime":1.5,"payload":{"tick":7}}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ack;
mod check;
mod client;
mod code;
mod delivery;
mod destination;
mod encoding;
mod error;
mod fragment;
mod game;
mod ids;
mod input;
mod json;
pub mod lan;
pub mod limits;
mod metadata;
mod permissions;
mod protobuf;
mod server;
mod server_info;
mod snapshot;
mod token;

pub use ack::StateAck;
pub use client::{
    ClientMessage, Hello, MovementDelta, Ping, PlaygroundClear, PlaygroundSpawn, PlaygroundStress, RoomSelector,
    SpawnRequest,
};
pub use code::{CloseReason, ErrorCode};
pub use delivery::DeliveryPath;
pub use destination::Destination;
pub use encoding::{Encoding, EncodingNameError, Encodings, MessageEncoding};
pub use error::{DecodeError, EncodeError};
pub use fragment::{Fragment, FragmentError, Fragments, Reassembler, fragment};
pub use game::{FieldValues, GameBody, GameMessage};
pub use ids::{
    ClientTime, CommandSeq, ConnectionId, EntityId, InputSeq, MessageId, PacketSeq, PlayerId, RequestId, RoomId,
    SchemaHash, SessionId, Tick, ViewTick,
};
pub use input::{InputBytes, InputPayload, InputPayloads, Inputs};
pub use metadata::JoinMetadata;
pub use permissions::Permissions;
pub use protobuf::encode_state_packet;
pub use server::{
    Ack, Cleared, Closing, CommandError, Correction, ErrorNotice, Event, Manifest, Pong, Possession, ServerMessage,
    Welcome, WorldParameters,
};
pub use server_info::{RoomTypeInfo, ServerInfo, UdpGrant, UdpInfo, WebTransportInfo};
pub use snapshot::{EntityFields, JsonSnapshot, Snapshot, SnapshotMode, StatePacket};
pub use token::Token;

use serde::{Deserialize, Serialize};

/// Version of the protocol. A change that an older peer would misread increments it; a new message or a new optional
/// field does not.
pub const PROTOCOL_VERSION: u32 = 2;

/// WebSocket subprotocol that selects protobuf.
pub const SUBPROTOCOL_PROTOBUF: &str = "aether.v2.protobuf";

/// WebSocket subprotocol that selects JSON.
pub const SUBPROTOCOL_JSON: &str = "aether.v2.json";

/// Position, distance or velocity in the plane, in world units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vector2 {
    /// Coordinate to the right.
    pub x: f32,
    /// Coordinate upwards.
    pub y: f32,
}
