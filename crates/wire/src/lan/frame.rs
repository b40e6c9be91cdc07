//! Frame of a stream: a part of a key frame, or one state packet.

use super::codec::{PacketKind, Reader, Writer};
use super::{FRAME_PAYLOAD_BYTES_MAX, KEY_FRAME_PARTS_MAX, LanDecodeError};

/// Datagram of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamFrame<'a> {
    /// Number of the stream.
    pub stream: u64,
    /// Number of the key frame that the frame belongs to, from 1.
    pub epoch: u32,
    /// Number of the frame in the stream, from 1. A second copy has a number of its own.
    pub sequence: u32,
    /// Content.
    pub body: FrameBody<'a>,
}

/// Content of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameBody<'a> {
    /// Part of the key frame of the epoch.
    KeyPart {
        /// Number of the part, from 0.
        part: u16,
        /// Number of all parts.
        parts: u16,
        /// Bytes of the part.
        bytes: &'a [u8],
    },
    /// State packet, made from the states of the key frame.
    State(&'a [u8]),
}

impl StreamFrame<'_> {
    /// Encodes the frame without its signature.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new(PacketKind::Frame);
        writer.u64(self.stream);
        writer.u32(self.epoch);
        writer.u32(self.sequence);
        let (part, parts, payload) = match self.body {
            FrameBody::KeyPart { part, parts, bytes } => (part, parts, bytes),
            FrameBody::State(packet) => (0, 0, packet),
        };
        writer.u16(part);
        writer.u16(parts);
        writer.bytes(payload);
        writer.0
    }

    /// Decodes a frame. The caller verifies the signature.
    pub fn decode(packet: &[u8]) -> Result<StreamFrame<'_>, LanDecodeError> {
        let mut reader = Reader::signed(PacketKind::Frame, packet)?;
        let (stream, epoch, sequence) = (reader.u64()?, reader.u32()?, reader.u32()?);
        let (part, parts, bytes) = (reader.u16()?, reader.u16()?, reader.rest());
        let is_bounded = usize::from(parts) <= KEY_FRAME_PARTS_MAX && bytes.len() <= FRAME_PAYLOAD_BYTES_MAX;
        let body = match parts {
            _ if !is_bounded || bytes.is_empty() => return Err(LanDecodeError::Malformed),
            0 if part == 0 => FrameBody::State(bytes),
            _ if part < parts => FrameBody::KeyPart { part, parts, bytes },
            _ => return Err(LanDecodeError::Malformed),
        };
        Ok(StreamFrame { stream, epoch, sequence, body })
    }
}
