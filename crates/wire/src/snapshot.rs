//! State of the world, as sent to a client.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::game::FieldValues;
use crate::ids::{EntityId, InputSeq, Tick};

/// A snapshot, packed or by name.
#[derive(Clone, Debug, PartialEq)]
pub enum Snapshot {
    /// One state packet.
    Packed(StatePacket),
    /// Absolute values by name, for JSON clients.
    Readable(JsonSnapshot),
}

/// One state packet of at most [`crate::limits::STATE_PACKET_BYTES_MAX`] bytes, useful by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatePacket {
    /// Content of the packet.
    pub bytes: Vec<u8>,
    /// Number of [tick messages](crate::ServerMessage::is_tick_message) that were sent before it on this connection.
    /// They are applied first. Zero if there is nothing to wait for.
    pub after: u32,
}

impl From<Vec<u8>> for StatePacket {
    fn from(bytes: Vec<u8>) -> StatePacket {
        StatePacket { bytes, after: 0 }
    }
}

impl std::ops::Deref for StatePacket {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A snapshot with values by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JsonSnapshot {
    /// Tick of the state.
    pub tick: Tick,
    /// Full or delta.
    pub mode: SnapshotMode,
    /// Last input of this client that the state includes.
    pub local_ack_seq: InputSeq,
    /// Entities with their fields, by feature channel.
    pub features: BTreeMap<String, Vec<EntityFields>>,
    /// Entities that entered the view with this snapshot. Their fields are in `features`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entered: Vec<EntityId>,
    /// Entities that left the view: they were despawned or are no longer visible.
    pub removed: Vec<EntityId>,
}

/// Completeness of a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SnapshotMode {
    /// All visible entities. An entity that is not listed does not exist.
    #[default]
    Full,
    /// Changes since the previous snapshot.
    Delta,
}

/// Fields of an entity in a feature channel. In JSON the fields are beside the id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EntityFields {
    /// The entity.
    pub id: EntityId,
    /// Fields with absolute values. The name `id` is reserved.
    #[serde(flatten)]
    pub fields: FieldValues,
}
