//! Frames: the content of a packet after its acknowledgement.
//!
//! ```text
//!  frame:   kind, 5 bits   length, 11 bits   body
//!
//!  body of a message:     unreliable, sequenced: bytes
//!                         ordered, unordered:    message number 2   bytes
//!                         fragments of these:    message number 2   index 1   total 1   bytes
//!  body of the others:    ping: none   path challenge, path response: 8 bytes   close: code 2
//! ```

use crate::bytes::Reader;

/// Length of the head of a frame.
pub(crate) const FRAME_HEADER_BYTES: usize = 2;

/// Length of the message number of a reliable message.
pub(crate) const MESSAGE_NUMBER_BYTES: usize = 2;

/// Length of number, index and total of a fragment.
pub(crate) const FRAGMENT_HEADER_BYTES: usize = MESSAGE_NUMBER_BYTES + 2;

/// Random content of a path challenge.
pub(crate) type PathNonce = [u8; 8];

/// Frame of a received packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    Unreliable(&'a [u8]),
    Sequenced(&'a [u8]),
    Reliable(ReliableChannel, Piece<'a>),
    Ping,
    PathChallenge(PathNonce),
    PathResponse(PathNonce),
    Close(u16),
}

/// Reliable channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReliableChannel {
    Ordered,
    Unordered,
}

/// Whole reliable message, or fragment of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    /// Low 16 bits of the message number.
    pub number: u16,
    pub index: u8,
    /// Number of fragments; 1 for a whole message.
    pub total: u8,
    pub bytes: &'a [u8],
}

const UNRELIABLE: u8 = 1;
const SEQUENCED: u8 = 2;
const ORDERED: u8 = 3;
const UNORDERED: u8 = 4;
const ORDERED_FRAGMENT: u8 = 5;
const UNORDERED_FRAGMENT: u8 = 6;
const PING: u8 = 7;
const PATH_CHALLENGE: u8 = 8;
const PATH_RESPONSE: u8 = 9;
const CLOSE: u8 = 10;

impl<'a> Frame<'a> {
    /// Reads the next frame. `None` if it is malformed.
    pub(crate) fn read(reader: &mut Reader<'a>) -> Option<Frame<'a>> {
        let head = reader.u16()?;
        let mut body = Reader(reader.take(usize::from(head & 0x7FF))?);
        let frame = match (head >> 11) as u8 {
            UNRELIABLE => Frame::Unreliable(body.0),
            SEQUENCED => Frame::Sequenced(body.0),
            ORDERED => Frame::Reliable(ReliableChannel::Ordered, Piece::read_whole(&mut body)?),
            UNORDERED => Frame::Reliable(ReliableChannel::Unordered, Piece::read_whole(&mut body)?),
            ORDERED_FRAGMENT => Frame::Reliable(ReliableChannel::Ordered, Piece::read_fragment(&mut body)?),
            UNORDERED_FRAGMENT => Frame::Reliable(ReliableChannel::Unordered, Piece::read_fragment(&mut body)?),
            PING => Frame::Ping,
            PATH_CHALLENGE => Frame::PathChallenge(body.array()?),
            PATH_RESPONSE => Frame::PathResponse(body.array()?),
            CLOSE => Frame::Close(body.u16()?),
            _ => return None,
        };
        Some(frame)
    }

    /// Length of a path response on the wire.
    pub(crate) const PATH_RESPONSE_BYTES: usize = FRAME_HEADER_BYTES + size_of::<PathNonce>();

    /// Returns true if a packet with this frame is acknowledged. The others are repeated by rules of their own.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.kind() < PATH_CHALLENGE
    }

    /// The same, by the first byte of a frame.
    pub(crate) fn is_acknowledged_kind(first: u8) -> bool {
        first >> 3 < PATH_CHALLENGE
    }

    /// Length of the frame on the wire.
    pub(crate) fn encoded_bytes(&self) -> usize {
        FRAME_HEADER_BYTES + self.body_bytes()
    }

    /// Writes the frame to the end of `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        write_head(out, self.kind(), self.body_bytes());
        match self {
            Frame::Unreliable(bytes) | Frame::Sequenced(bytes) => out.extend_from_slice(bytes),
            Frame::Reliable(_, piece) => {
                piece.write_head(out);
                out.extend_from_slice(piece.bytes);
            }
            Frame::Ping => {}
            Frame::PathChallenge(nonce) | Frame::PathResponse(nonce) => out.extend_from_slice(nonce),
            Frame::Close(code) => out.extend_from_slice(&code.to_be_bytes()),
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Frame::Unreliable(_) => UNRELIABLE,
            Frame::Sequenced(_) => SEQUENCED,
            Frame::Reliable(channel, piece) => channel.kind(piece.total > 1),
            Frame::Ping => PING,
            Frame::PathChallenge(_) => PATH_CHALLENGE,
            Frame::PathResponse(_) => PATH_RESPONSE,
            Frame::Close(_) => CLOSE,
        }
    }

    fn body_bytes(&self) -> usize {
        match self {
            Frame::Unreliable(bytes) | Frame::Sequenced(bytes) => bytes.len(),
            Frame::Reliable(_, piece) => piece.head_bytes() + piece.bytes.len(),
            Frame::Ping => 0,
            Frame::PathChallenge(nonce) | Frame::PathResponse(nonce) => nonce.len(),
            Frame::Close(_) => 2,
        }
    }
}

impl ReliableChannel {
    fn kind(self, is_fragment: bool) -> u8 {
        match (self, is_fragment) {
            (ReliableChannel::Ordered, false) => ORDERED,
            (ReliableChannel::Unordered, false) => UNORDERED,
            (ReliableChannel::Ordered, true) => ORDERED_FRAGMENT,
            (ReliableChannel::Unordered, true) => UNORDERED_FRAGMENT,
        }
    }
}

impl<'a> Piece<'a> {
    fn read_whole(body: &mut Reader<'a>) -> Option<Piece<'a>> {
        Some(Piece { number: body.u16()?, index: 0, total: 1, bytes: body.0 })
    }

    /// Reads a fragment. A total of 0 or 1 is none of a fragment.
    fn read_fragment(body: &mut Reader<'a>) -> Option<Piece<'a>> {
        let (number, index, total) = (body.u16()?, body.u8()?, body.u8()?);
        (total > 1 && index < total).then_some(Piece { number, index, total, bytes: body.0 })
    }

    fn head_bytes(&self) -> usize {
        if self.total > 1 { FRAGMENT_HEADER_BYTES } else { MESSAGE_NUMBER_BYTES }
    }

    fn write_head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.number.to_be_bytes());
        if self.total > 1 {
            out.extend_from_slice(&[self.index, self.total]);
        }
    }
}

fn write_head(out: &mut Vec<u8>, kind: u8, body: usize) {
    let head = u16::from(kind) << 11 | body as u16;
    out.extend_from_slice(&head.to_be_bytes());
}
