//! Protobuf encoding of messages. `proto/aether.proto` is the schema for other languages.

mod client;
mod frames;
mod server;

use prost::Message;

use crate::check;
use crate::client::ClientMessage;
use crate::error::{DecodeError, EncodeError};
use crate::fragment::Fragment;
use crate::ids::{EntityId, MessageId};
use crate::limits::{RELIABLE_MESSAGE_BYTES_MAX, STATE_PACKET_BYTES_MAX};
use crate::server::ServerMessage;
use crate::snapshot::Snapshot;

impl ClientMessage {
    /// Appends this message as one protobuf frame.
    ///
    /// # Errors
    /// If the message has values by name, or the receiver would reject it. Nothing is appended then.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        check::client_message(self)?;
        append(&frames::ClientFrame { message: Some(self.to_proto()?) }, out)
    }

    /// Decodes a protobuf frame.
    ///
    /// # Errors
    /// If the bytes are not a valid message.
    pub fn decode(bytes: &[u8]) -> Result<ClientMessage, DecodeError> {
        let frame: frames::ClientFrame = parse(bytes)?;
        let message = frame.message.ok_or(DecodeError::UnknownMessage)?;
        let message = ClientMessage::from_proto(message)?;
        check::client_message(&message)?;
        Ok(message)
    }
}

impl ServerMessage {
    /// Appends this message as one protobuf frame.
    ///
    /// # Errors
    /// If the message has values by name, or the receiver would reject it. Nothing is appended then.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        check::server_message(self)?;
        let after = match self {
            ServerMessage::Snapshot(Snapshot::Packed(packet)) => packet.after,
            _ => 0,
        };
        append(&frames::ServerFrame { message: Some(self.to_proto()?), after }, out)
    }

    /// Decodes a protobuf frame.
    ///
    /// # Errors
    /// If the bytes are not a valid message.
    pub fn decode(bytes: &[u8]) -> Result<ServerMessage, DecodeError> {
        let frame: frames::ServerFrame = parse(bytes)?;
        let message = frame.message.ok_or(DecodeError::UnknownMessage)?;
        let mut message = ServerMessage::from_proto(message)?;
        if let ServerMessage::Snapshot(Snapshot::Packed(packet)) = &mut message {
            packet.after = frame.after;
        }
        check::server_message(&message)?;
        Ok(message)
    }
}

/// Appends a state packet as a frame of [`ServerMessage::Snapshot`], directly from a shared buffer. `after` is
/// [`StatePacket::after`](crate::StatePacket::after).
///
/// # Errors
/// If the packet is longer than [`STATE_PACKET_BYTES_MAX`].
pub fn encode_state_packet(packet: &[u8], after: u32, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    if packet.len() > STATE_PACKET_BYTES_MAX {
        let limit = STATE_PACKET_BYTES_MAX;
        return Err(EncodeError::Rejected(DecodeError::FieldTooLong { field: "snapshot", limit }));
    }
    out.push(frames::SNAPSHOT_TAG);
    prost::encode_length_delimiter(packet.len(), out).expect("writing to a vector cannot fail");
    out.extend_from_slice(packet);
    if after > 0 {
        prost::encoding::uint32::encode(frames::AFTER_TAG, &after, out);
    }
    Ok(())
}

fn append<Frame: Message>(frame: &Frame, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    check_length(frame.encoded_len())?;
    frame.encode(out).expect("writing to a vector cannot fail");
    Ok(())
}

fn parse<Frame: Message + Default>(bytes: &[u8]) -> Result<Frame, DecodeError> {
    check_length(bytes.len())?;
    Frame::decode(bytes).map_err(|_| DecodeError::Malformed)
}

fn check_length(bytes: usize) -> Result<(), DecodeError> {
    if bytes > RELIABLE_MESSAGE_BYTES_MAX {
        return Err(DecodeError::TooLong { bytes, limit: RELIABLE_MESSAGE_BYTES_MAX });
    }
    Ok(())
}

impl From<&Fragment> for frames::Fragment {
    fn from(fragment: &Fragment) -> frames::Fragment {
        frames::Fragment {
            message: fragment.message.0,
            index: fragment.index.into(),
            total: fragment.total.into(),
            bytes: fragment.bytes.clone(),
        }
    }
}

impl TryFrom<frames::Fragment> for Fragment {
    type Error = DecodeError;

    fn try_from(fragment: frames::Fragment) -> Result<Fragment, DecodeError> {
        Ok(Fragment {
            message: MessageId(fragment.message),
            index: small(fragment.index, "index")?,
            total: small(fragment.total, "total")?,
            bytes: fragment.bytes,
        })
    }
}

fn small(number: u32, field: &'static str) -> Result<u16, DecodeError> {
    u16::try_from(number).map_err(|_| DecodeError::BadValue { field })
}

fn entity(bits: u64) -> Result<EntityId, DecodeError> {
    EntityId::from_bits(bits).ok_or(DecodeError::BadValue { field: "entity" })
}

fn required<T>(value: Option<T>, field: &'static str) -> Result<T, DecodeError> {
    value.ok_or(DecodeError::Missing { field })
}
