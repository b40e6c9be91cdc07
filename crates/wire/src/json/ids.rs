//! Ids in JSON: numbers if a 64-bit float is exact, texts otherwise.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::{ConnectionId, EntityId, InputSeq, PlayerId, RoomId, SchemaHash, SessionId, Tick};

/// Ids that are serialized as the value inside.
macro_rules! plain {
    ($($id:ident($inner:ty)),*) => {$(
        impl Serialize for $id {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$id, D::Error> {
                <$inner>::deserialize(deserializer).map($id)
            }
        }
    )*};
}

plain!(Tick(u32), PlayerId(u32), InputSeq(u32), ConnectionId(u64), RoomId(String));

impl Serialize for EntityId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.to_bits())
    }
}

impl<'de> Deserialize<'de> for EntityId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EntityId, D::Error> {
        EntityId::from_bits(u64::deserialize(deserializer)?).ok_or_else(|| D::Error::custom("not an entity id"))
    }
}

impl Serialize for SchemaHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SchemaHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SchemaHash, D::Error> {
        let text = String::deserialize(deserializer)?;
        let hash = u64::from_str_radix(&text, 16).map(SchemaHash).ok();
        // Only the canonical text of a hash is accepted.
        hash.filter(|hash| hash.to_string() == text).ok_or_else(|| D::Error::custom("not a schema hash"))
    }
}

impl Serialize for SessionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SessionId, D::Error> {
        let text = String::deserialize(deserializer)?;
        let session = u128::from_str_radix(&text.replace('-', ""), 16).map(SessionId).ok();
        session.filter(|session| session.to_string() == text).ok_or_else(|| D::Error::custom("not a session id"))
    }
}
