//! Request for the stream of a room, and the offer that answers it.

use super::codec::{PacketKind, Reader, Writer};
use super::{LAN_ROOM_ID_BYTES_MAX, LanDecodeError, ServerKey, WATCH_BYTES};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Request for the stream of a room. A viewer repeats it while it watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanWatch {
    /// Random number, which the offer repeats.
    pub nonce: u64,
    /// Id of the server.
    pub server: u64,
    /// Id of the room.
    pub room: String,
}

/// Answer to a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanOffer {
    /// Nonce of the watch.
    pub nonce: u64,
    /// Public key of the server.
    pub key: ServerKey,
    /// The stream, or the reason why there is none.
    pub stream: Result<OfferedStream, StreamRefusal>,
}

/// Multicast stream of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedStream {
    /// Number in every frame of the stream; random, so that frames of an earlier stream are recognized.
    pub stream: u64,
    /// Multicast group and port of the frames.
    pub group: SocketAddrV4,
}

/// Reason why a room is not streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamRefusal {
    /// There is no such room, or its type is not offered.
    NotOffered,
    /// The server has as many streams as it may.
    TooMany,
}

impl StreamRefusal {
    fn code(self) -> u8 {
        match self {
            StreamRefusal::NotOffered => 1,
            StreamRefusal::TooMany => 2,
        }
    }
}

impl std::fmt::Display for StreamRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            StreamRefusal::NotOffered => "the server does not stream this room; see `multicast.spectate` on the server",
            StreamRefusal::TooMany => "the server streams as many rooms as it may; see `multicast.streams_max`",
        })
    }
}

impl LanWatch {
    /// Encodes the watch.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new(PacketKind::Watch);
        writer.u64(self.nonce);
        writer.u64(self.server);
        writer.text(&self.room, LAN_ROOM_ID_BYTES_MAX);
        writer.padded(WATCH_BYTES)
    }

    /// Decodes a watch. One that is shorter than its padding is refused.
    pub fn decode(packet: &[u8]) -> Result<Self, LanDecodeError> {
        let mut reader = Reader::new(PacketKind::Watch, packet)?;
        if packet.len() != WATCH_BYTES {
            return Err(LanDecodeError::Length);
        }
        let (nonce, server) = (reader.u64()?, reader.u64()?);
        Ok(LanWatch { nonce, server, room: reader.text(LAN_ROOM_ID_BYTES_MAX)? })
    }
}

impl LanOffer {
    /// Encodes the offer without its signature.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new(PacketKind::Offer);
        writer.u64(self.nonce);
        writer.bytes(&self.key.0);
        let nothing = OfferedStream { stream: 0, group: SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0) };
        writer.u8(self.stream.err().map_or(0, StreamRefusal::code));
        let OfferedStream { stream, group } = self.stream.unwrap_or(nothing);
        writer.u64(stream);
        writer.bytes(&group.ip().octets());
        writer.u16(group.port());
        writer.0
    }

    /// Decodes an offer. The caller verifies the signature.
    pub fn decode(packet: &[u8]) -> Result<Self, LanDecodeError> {
        let mut reader = Reader::signed(PacketKind::Offer, packet)?;
        let (nonce, key, refusal) = (reader.u64()?, ServerKey(reader.array()?), reader.u8()?);
        let stream = reader.u64()?;
        let group = SocketAddrV4::new(Ipv4Addr::from(reader.array::<4>()?), reader.u16()?);
        reader.end()?;
        let stream = match refusal {
            0 if group.ip().is_multicast() && group.port() != 0 => Ok(OfferedStream { stream, group }),
            1 => Err(StreamRefusal::NotOffered),
            2 => Err(StreamRefusal::TooMany),
            _ => return Err(LanDecodeError::Malformed),
        };
        Ok(LanOffer { nonce, key, stream })
    }
}
