//! Ids, protocol messages, fragments and named limits.
//!
//! [`ClientMessage`] and [`ServerMessage`] are everything that client and server say to each
//! other. Each can be written and read as protobuf (`encode`, `decode`) and as a JSON envelope
//! (`encode_json`, `decode_json`). `WIRE_FORMAT.md` lists them all with their fields.
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
pub mod limits;
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
pub use encoding::Encoding;
pub use error::{DecodeError, EncodeError};
pub use fragment::{Fragment, FragmentError, Fragments, Reassembler, fragment};
pub use game::{FieldValues, GameBody, GameMessage};
pub use ids::{
    ClientTime, CommandSeq, ConnectionId, EntityId, InputSeq, MessageId, PacketSeq, PlayerId, RequestId, RoomId,
    SchemaHash, SessionId, Tick, ViewTick,
};
pub use input::{InputBytes, InputPayload, InputPayloads, Inputs};
pub use permissions::Permissions;
pub use protobuf::encode_state_packet;
pub use server::{
    Ack, Cleared, Closing, CommandError, Correction, ErrorNotice, Event, InterestEnter, InterestLeave, Manifest, Pong,
    Possession, ServerMessage, Welcome, WorldParameters,
};
pub use server_info::{RoomTypeInfo, ServerInfo, WebTransportInfo};
pub use snapshot::{EntityFields, JsonSnapshot, Snapshot, SnapshotMode};
pub use token::Token;

use serde::{Deserialize, Serialize};

/// The version of the messages in this crate. A change that an older peer would misread
/// raises it; a new message or a new optional field does not.
pub const PROTOCOL_VERSION: u32 = 2;

/// The WebSocket subprotocol by which a client chooses protobuf.
pub const SUBPROTOCOL_PROTOBUF: &str = "aether.v2.protobuf";

/// The WebSocket subprotocol by which a client chooses JSON.
pub const SUBPROTOCOL_JSON: &str = "aether.v2.json";

/// A place, a distance or a velocity in the plane, in world units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vector2 {
    /// To the right.
    pub x: f32,
    /// Upwards.
    pub y: f32,
}
