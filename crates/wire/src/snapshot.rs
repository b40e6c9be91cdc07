//! The state of the world as a client receives it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::game::FieldValues;
use crate::ids::{EntityId, InputSeq, Tick};

/// A snapshot in one of its two forms.
#[derive(Clone, Debug, PartialEq)]
pub enum Snapshot {
    /// One state packet, bit-packed by replication: at most
    /// [`crate::limits::STATE_PACKET_BYTES_MAX`] bytes that stand alone.
    Packed(Vec<u8>),
    /// Absolute values by name, for JSON clients.
    Readable(JsonSnapshot),
}

/// A snapshot that people can read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JsonSnapshot {
    /// The tick whose state this is.
    pub tick: Tick,
    /// Whether it is everything, or what changed.
    pub mode: SnapshotMode,
    /// The last input of this client that the state contains.
    pub local_ack_seq: InputSeq,
    /// For each feature channel, the entities with their fields.
    pub features: BTreeMap<String, Vec<EntityFields>>,
    /// Entities that are gone, or out of view.
    pub removed: Vec<EntityId>,
}

/// Whether a snapshot is everything, or what changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SnapshotMode {
    /// Everything in view; what is not in it is not there.
    #[default]
    Full,
    /// What changed since the snapshot before.
    Delta,
}

/// One entity's fields of one feature channel. In JSON the fields stand beside the id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EntityFields {
    /// The entity.
    pub id: EntityId,
    /// Its fields with their absolute values. The name `id` is taken.
    #[serde(flatten)]
    pub fields: FieldValues,
}
