//! Query for servers and rooms, and its answer.

use super::codec::{PacketKind, Reader, Writer};
use super::{
    HOST_BYTES_MAX, LAN_DATAGRAM_BYTES_MAX, LAN_LABEL_BYTES_MAX, LAN_ROOM_ID_BYTES_MAX, LAN_ROOMS_MAX, LAN_TYPES_MAX,
    LanDecodeError, QUERY_BYTES, SIGNATURE_BYTES, ServerKey,
};
use crate::limits::{NAME_BYTES_MAX, ROOM_CODE_BYTES_MAX, VERSION_BYTES_MAX};

/// Flag of an answer: the HTTP listener uses TLS.
const IS_SECURE: u8 = 1;
/// Flag of a room: it can be watched.
const CAN_WATCH: u8 = 1;

/// Search for servers and rooms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LanQuery {
    /// Random number, which the answer repeats.
    pub nonce: u64,
    /// Id of the server that shall answer; 0 for all.
    pub server: u64,
    /// Number of the first room to list.
    pub first_room: u16,
    /// Text that the name of the server, or the type, code or label of a room contains. Empty for all.
    pub name: String,
}

/// Description of a server, with some of its rooms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanAnswer {
    /// Nonce of the query; 0 in an announcement, which nobody asked for.
    pub nonce: u64,
    /// Public key of the server.
    pub key: ServerKey,
    /// Port of its HTTP listener.
    pub http_port: u16,
    /// True if the HTTP listener uses TLS.
    pub is_secure: bool,
    /// Host name for connections. Empty: the address that the answer came from.
    pub host: String,
    /// Name of the server.
    pub name: String,
    /// Version of the server.
    pub version: String,
    /// Room types that clients can join.
    pub room_types: Vec<String>,
    /// Number of all rooms that match the query.
    pub rooms_total: u16,
    /// Number of the first room in `rooms`.
    pub first_room: u16,
    /// Public rooms.
    pub rooms: Vec<LanRoom>,
}

/// Public room of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LanRoom {
    /// Id.
    pub id: String,
    /// Code that people type; may be empty.
    pub code: String,
    /// Room type.
    pub room_type: String,
    /// Number of players.
    pub players: u16,
    /// Upper bound of players.
    pub players_max: u16,
    /// Label, cut to [`LAN_LABEL_BYTES_MAX`] bytes.
    pub label: String,
    /// True if it can be watched as a multicast stream.
    pub can_watch: bool,
}

impl LanQuery {
    /// Encodes the query. A name beyond its bound is cut.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new(PacketKind::Query);
        writer.u64(self.nonce);
        writer.u64(self.server);
        writer.u16(self.first_room);
        writer.text(&self.name, NAME_BYTES_MAX);
        writer.padded(QUERY_BYTES)
    }

    /// Decodes a query. One that is shorter than its padding is refused.
    pub fn decode(packet: &[u8]) -> Result<Self, LanDecodeError> {
        let mut reader = Reader::new(PacketKind::Query, packet)?;
        if packet.len() != QUERY_BYTES {
            return Err(LanDecodeError::Length);
        }
        let (nonce, server, first_room) = (reader.u64()?, reader.u64()?, reader.u16()?);
        Ok(LanQuery { nonce, server, first_room, name: reader.text(NAME_BYTES_MAX)? })
    }
}

impl LanAnswer {
    /// Encodes the answer without its signature, with as many of the rooms as fit. Returns their number.
    pub fn encode(&self) -> (Vec<u8>, usize) {
        let mut writer = Writer::new(PacketKind::Answer);
        writer.u64(self.nonce);
        writer.bytes(&self.key.0);
        writer.u16(self.http_port);
        writer.u8(if self.is_secure { IS_SECURE } else { 0 });
        writer.text(&self.host, HOST_BYTES_MAX);
        writer.text(&self.name, NAME_BYTES_MAX);
        writer.text(&self.version, VERSION_BYTES_MAX);
        let types_at = writer.0.len();
        writer.u8(0);
        for room_type in self.room_types.iter().take(LAN_TYPES_MAX) {
            // Half of the packet is for rooms.
            if writer.0.len() + 1 + room_type.len() > LAN_DATAGRAM_BYTES_MAX / 2 {
                break;
            }
            writer.text(room_type, NAME_BYTES_MAX);
            writer.0[types_at] += 1;
        }
        writer.u16(self.rooms_total.min(LAN_ROOMS_MAX as u16));
        writer.u16(self.first_room);
        let listed_at = writer.0.len();
        writer.u8(0);
        let mut listed = 0;
        for room in &self.rooms {
            let start = writer.0.len();
            room.write(&mut writer);
            if writer.0.len() > LAN_DATAGRAM_BYTES_MAX - SIGNATURE_BYTES || listed == usize::from(u8::MAX) {
                writer.0.truncate(start);
                break;
            }
            listed += 1;
        }
        writer.0[listed_at] = listed as u8;
        (writer.0, listed)
    }

    /// Decodes an answer. The caller verifies the signature.
    pub fn decode(packet: &[u8]) -> Result<Self, LanDecodeError> {
        let mut reader = Reader::signed(PacketKind::Answer, packet)?;
        let (nonce, key, http_port) = (reader.u64()?, ServerKey(reader.array()?), reader.u16()?);
        let is_secure = reader.u8()? & IS_SECURE != 0;
        let (host, name) = (reader.text(HOST_BYTES_MAX)?, reader.text(NAME_BYTES_MAX)?);
        let version = reader.text(VERSION_BYTES_MAX)?;
        let types = usize::from(reader.u8()?);
        if types > LAN_TYPES_MAX {
            return Err(LanDecodeError::Malformed);
        }
        let room_types = (0..types).map(|_| reader.text(NAME_BYTES_MAX)).collect::<Result<_, _>>()?;
        let rooms_total = reader.count(LAN_ROOMS_MAX)? as u16;
        let first_room = reader.count(LAN_ROOMS_MAX)? as u16;
        let listed = reader.u8()?;
        if listed > 0 && usize::from(first_room) + usize::from(listed) > usize::from(rooms_total) {
            return Err(LanDecodeError::Malformed);
        }
        let rooms = (0..listed).map(|_| LanRoom::read(&mut reader)).collect::<Result<_, _>>()?;
        reader.end()?;
        Ok(LanAnswer {
            nonce,
            key,
            http_port,
            is_secure,
            host,
            name,
            version,
            room_types,
            rooms_total,
            first_room,
            rooms,
        })
    }
}

impl LanRoom {
    /// Returns true if the type, code or label of the room contains a text, in any case.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        [&self.room_type, &self.code, &self.label].into_iter().any(|text| contains(text, name))
    }

    fn write(&self, writer: &mut Writer) {
        writer.text(&self.id, LAN_ROOM_ID_BYTES_MAX);
        writer.text(&self.code, ROOM_CODE_BYTES_MAX);
        writer.text(&self.room_type, NAME_BYTES_MAX);
        writer.u16(self.players);
        writer.u16(self.players_max);
        writer.text(&self.label, LAN_LABEL_BYTES_MAX);
        writer.u8(if self.can_watch { CAN_WATCH } else { 0 });
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, LanDecodeError> {
        Ok(LanRoom {
            id: reader.text(LAN_ROOM_ID_BYTES_MAX)?,
            code: reader.text(ROOM_CODE_BYTES_MAX)?,
            room_type: reader.text(NAME_BYTES_MAX)?,
            players: reader.u16()?,
            players_max: reader.u16()?,
            label: reader.text(LAN_LABEL_BYTES_MAX)?,
            can_watch: reader.u8()? & CAN_WATCH != 0,
        })
    }
}

impl LanQuery {
    /// Returns true if the query asks for a server of this name and id, whatever its rooms.
    #[must_use]
    pub fn wants_server(&self, name: &str) -> bool {
        contains(name, &self.name)
    }
}

fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}
