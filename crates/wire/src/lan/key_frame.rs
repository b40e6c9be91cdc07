//! Key frame: the whole state of a room, and what a viewer needs to read it.

use super::codec::Reader;
use super::{
    FRAME_PAYLOAD_BYTES_MAX, KEY_FRAME_PACKETS_MAX, KEY_FRAME_PARTS_MAX, LAN_ROOM_ID_BYTES_MAX, LanDecodeError,
};
use crate::limits::{NAME_BYTES_MAX, SCHEMA_BYTES_MAX, STATE_PACKET_BYTES_MAX};
use crate::{SchemaHash, Tick};

/// Whole state of a room at a tick.
///
/// ```text
/// | room id text | type text | tick Hz u16 | snapshot Hz u16 | tick u32
/// | schema hash u64 | schema length u16, bytes | packets u16, each: length u16, bytes |
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyFrame {
    /// Id of the room.
    pub room: String,
    /// Type of the room.
    pub room_type: String,
    /// Ticks per second.
    pub tick_hz: u16,
    /// Snapshots per second.
    pub snapshot_hz: u16,
    /// Tick of the state.
    pub tick: Tick,
    /// Hash of the schema.
    pub schema_hash: SchemaHash,
    /// Encoded schema of the room.
    pub schema: Vec<u8>,
    /// State packets that fill an empty mirror.
    pub packets: Vec<Vec<u8>>,
}

impl KeyFrame {
    /// Encodes the key frame. Texts, packets and a schema beyond their bounds are left out.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (text, bytes_max) in [(&self.room, LAN_ROOM_ID_BYTES_MAX), (&self.room_type, NAME_BYTES_MAX)] {
            let text = if text.len() <= bytes_max { text.as_str() } else { "" };
            bytes.push(text.len() as u8);
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes.extend_from_slice(&self.tick_hz.to_le_bytes());
        bytes.extend_from_slice(&self.snapshot_hz.to_le_bytes());
        bytes.extend_from_slice(&self.tick.0.to_le_bytes());
        bytes.extend_from_slice(&self.schema_hash.0.to_le_bytes());
        let schema = if self.schema.len() <= SCHEMA_BYTES_MAX { &self.schema[..] } else { &[] };
        bytes.extend_from_slice(&(schema.len() as u16).to_le_bytes());
        bytes.extend_from_slice(schema);
        let fits = |packet: &&Vec<u8>| packet.len() <= STATE_PACKET_BYTES_MAX;
        let packets: Vec<_> = self.packets.iter().filter(fits).take(KEY_FRAME_PACKETS_MAX).collect();
        bytes.extend_from_slice(&(packets.len() as u16).to_le_bytes());
        for packet in packets {
            bytes.extend_from_slice(&(packet.len() as u16).to_le_bytes());
            bytes.extend_from_slice(packet);
        }
        bytes
    }

    /// Decodes a key frame.
    pub fn decode(bytes: &[u8]) -> Result<Self, LanDecodeError> {
        let mut reader = Reader::of(bytes);
        let (room, room_type) = (reader.text(LAN_ROOM_ID_BYTES_MAX)?, reader.text(NAME_BYTES_MAX)?);
        let (tick_hz, snapshot_hz) = (reader.u16()?, reader.u16()?);
        let (tick, schema_hash) = (Tick(reader.u32()?), SchemaHash(reader.u64()?));
        let length = reader.count(SCHEMA_BYTES_MAX)?;
        let schema = reader.bytes(length)?.to_vec();
        let mut packets = Vec::new();
        for _ in 0..reader.count(KEY_FRAME_PACKETS_MAX)? {
            let length = reader.count(STATE_PACKET_BYTES_MAX)?;
            packets.push(reader.bytes(length)?.to_vec());
        }
        reader.end()?;
        Ok(KeyFrame { room, room_type, tick_hz, snapshot_hz, tick, schema_hash, schema, packets })
    }
}

/// Splits an encoded key frame into the parts of its frames.
pub fn key_frame_parts(bytes: &[u8]) -> impl ExactSizeIterator<Item = &[u8]> {
    bytes.chunks(FRAME_PAYLOAD_BYTES_MAX)
}

/// Collects the parts of the newest key frame.
#[derive(Debug, Default)]
pub struct KeyFrameAssembler {
    epoch: u32,
    parts: Vec<Option<Vec<u8>>>,
    missing: usize,
}

impl KeyFrameAssembler {
    /// Adds a part. Returns the bytes of the key frame when its last part arrives. Parts of an older epoch, repeated ones
    /// and those that contradict others are ignored.
    pub fn push(&mut self, epoch: u32, (part, parts): (u16, u16), bytes: &[u8]) -> Option<Vec<u8>> {
        let (part, parts) = (usize::from(part), usize::from(parts));
        let is_valid = part < parts && parts <= KEY_FRAME_PARTS_MAX && bytes.len() <= FRAME_PAYLOAD_BYTES_MAX;
        if !is_valid || epoch < self.epoch {
            return None;
        }
        if epoch > self.epoch {
            (self.epoch, self.missing) = (epoch, parts);
            self.parts.clear();
            self.parts.resize(parts, None);
        }
        // After the last part there are no places, so a second copy is ignored.
        let place = self.parts.get_mut(part).filter(|place| place.is_none())?;
        *place = Some(bytes.to_vec());
        self.missing -= 1;
        (self.missing == 0).then(|| std::mem::take(&mut self.parts).into_iter().flatten().flatten().collect())
    }

    /// Epoch of the newest part.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }
}
