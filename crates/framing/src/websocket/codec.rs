//! WebSocket frames (RFC 6455), without sockets.
//!
//! ```text
//!   0               1               2               3
//!  |F R R R opcode |M  length      | length, if 126 or 127  …
//!  |I S S S        |A  7           | 16 or 64
//!  |N V V V  4     |S              |
//!  | mask, if MASK is set: 4 bytes | payload …
//! ```
//!
//! A connection has one [`Decoder`]. Without a partial message it uses no heap memory, because most connections of a
//! large server are idle at any moment.

mod header;

use super::deflate;
use crate::FramingError;
use header::{FIN, Header, LONG_LENGTH_BYTES, MASK, Parsed, RSV1, SHORT_HEADER_BYTES, apply_mask, write_header};

/// Upper bound of the payload of a control frame (RFC 6455, 5.5).
pub const CONTROL_BYTES_MAX: usize = 125;

/// Upper bound of the fragments of a message. Otherwise, empty fragments would never reach the limit of bytes. The
/// longest message has 64 bytes in each.
pub const FRAGMENTS_PER_MESSAGE_MAX: u16 = 1_024;

/// Longest header: 2 bytes, a 64-bit length and a mask.
pub const HEADER_BYTES_MAX: usize = 14;

/// End of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Receives masked frames and sends plain ones.
    Server,
    /// Receives plain frames and sends masked ones.
    Client,
}

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// Next part of a message.
    Continuation,
    /// UTF-8 text, or its first part.
    Text,
    /// Bytes, or their first part.
    Binary,
    /// Close of the connection.
    Close,
    /// Ping.
    Ping,
    /// Answer to a ping.
    Pong,
}

impl Opcode {
    fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xA => Self::Pong,
            _ => return None,
        })
    }

    fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Text => 0x1,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xA,
        }
    }

    fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// A whole message or a control frame, borrowed from the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incoming<'a> {
    /// A text message.
    Text(&'a str),
    /// A binary message.
    Binary(&'a [u8]),
    /// Ping. The answer is a pong with the same bytes.
    Ping(&'a [u8]),
    /// Answer to a ping.
    Pong(&'a [u8]),
    /// The peer closes the connection. Later bytes are ignored.
    Close {
        /// Close code, if the peer sent one.
        code: Option<u16>,
        /// Reason, often empty.
        reason: &'a str,
    },
}

/// Protocol violation of the peer. Close the connection with this code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolError {
    /// Close code: 1002 (protocol), 1007 (text is not UTF-8) or 1009 (too large).
    pub code: u16,
    /// Reason, for the close frame and the metric.
    pub reason: &'static str,
}

impl std::fmt::Display for ProtocolError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} ({})", self.reason, self.code)
    }
}

impl std::error::Error for ProtocolError {}

impl From<ProtocolError> for FramingError {
    fn from(error: ProtocolError) -> Self {
        match error.code {
            NOT_TEXT => FramingError::NotText(error.reason),
            TOO_LARGE => FramingError::Oversized(error.reason),
            _ => FramingError::Protocol(error.reason),
        }
    }
}

/// Returns the close code for a violation (RFC 6455, 7.4.1).
#[must_use]
pub fn violation_code(violation: FramingError) -> u16 {
    match violation {
        FramingError::Protocol(_) => PROTOCOL,
        FramingError::WrongKind(_) => 1003,
        FramingError::NotText(_) => NOT_TEXT,
        FramingError::Excess(_) => 1008,
        FramingError::Oversized(_) => TOO_LARGE,
    }
}

/// Decodes received bytes into messages.
#[derive(Debug)]
pub struct Decoder {
    /// Bytes of the partial frame, still masked.
    partial: Vec<u8>,
    /// Fragments of the partial message, unmasked.
    assembled: Vec<u8>,
    message_bytes_max: usize,
    failure: Option<ProtocolError>,
    unfinished: Option<Unfinished>,
    role: Role,
    compressed: bool,
    closed: bool,
}

impl Decoder {
    /// A decoder for a new connection, without compression.
    pub fn new(role: Role, message_bytes_max: usize) -> Self {
        Self {
            partial: Vec::new(),
            assembled: Vec::new(),
            message_bytes_max,
            failure: None,
            unfinished: None,
            role,
            compressed: false,
            closed: false,
        }
    }

    /// Sets the limit of later messages. It applies to the message on the wire and, if compressed, to its decompressed
    /// size.
    pub fn set_message_bytes_max(&mut self, message_bytes_max: usize) {
        self.message_bytes_max = message_bytes_max;
    }

    /// Set if both ends agreed on permessage-deflate.
    pub fn compressed(mut self, yes: bool) -> Self {
        self.compressed = yes;
        self
    }

    /// True if a frame or a message is incomplete.
    pub fn has_partial_message(&self) -> bool {
        !self.partial.is_empty() || self.unfinished.is_some()
    }

    /// Heap bytes of the partial frame and message.
    pub fn buffered_bytes(&self) -> usize {
        self.partial.capacity() + self.assembled.capacity()
    }

    /// Adds the next bytes of the connection, in chunks of any size, and calls `take` with every message that they
    /// complete. Payloads are unmasked in place.
    ///
    /// After an error, every call returns the same error. After a close frame, all bytes are ignored.
    pub fn feed(&mut self, bytes: &mut [u8], take: &mut dyn FnMut(Incoming<'_>)) -> Result<(), ProtocolError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let result = self.feed_open(bytes, take);
        if self.closed || result.is_err() {
            self.partial = Vec::new();
            self.assembled = Vec::new();
            self.unfinished = None;
        }
        self.failure = result.err();
        result
    }

    fn feed_open(&mut self, bytes: &mut [u8], take: &mut dyn FnMut(Incoming<'_>)) -> Result<(), ProtocolError> {
        let mut bytes = self.complete_partial(bytes, take)?;
        while !bytes.is_empty() && !self.closed {
            match self.read_header(bytes)? {
                Parsed::Header(header) if header.frame_bytes() <= bytes.len() => {
                    let (frame, rest) = bytes.split_at_mut(header.frame_bytes());
                    self.take_frame(&header, &mut frame[header.bytes..], take)?;
                    bytes = rest;
                }
                _ => {
                    self.partial.extend_from_slice(bytes);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Completes the partial frame, and returns the bytes after it.
    fn complete_partial<'b>(
        &mut self,
        mut bytes: &'b mut [u8],
        take: &mut dyn FnMut(Incoming<'_>),
    ) -> Result<&'b mut [u8], ProtocolError> {
        while !self.partial.is_empty() {
            let parsed = self.read_header(&self.partial)?;
            let missing = parsed.bytes_needed() - self.partial.len();
            if let (Parsed::Header(header), 0) = (&parsed, missing) {
                // The buffer is freed: a split frame is rare, an idle connection is not.
                let mut frame = std::mem::take(&mut self.partial);
                self.take_frame(header, &mut frame[header.bytes..], take)?;
                break;
            }
            if bytes.is_empty() {
                break;
            }
            let (next, rest) = bytes.split_at_mut(missing.min(bytes.len()));
            self.partial.extend_from_slice(next);
            bytes = rest;
        }
        Ok(bytes)
    }

    /// Parses a header, and checks everything that does not need the payload.
    fn read_header(&self, bytes: &[u8]) -> Result<Parsed, ProtocolError> {
        let parsed = Header::parse(bytes, self.role)?;
        let Parsed::Header(header) = &parsed else {
            return Ok(parsed);
        };
        if header.opcode.is_control() {
            if header.compressed {
                return Err(protocol("a control frame is marked as compressed"));
            }
            return Ok(parsed);
        }
        match (&self.unfinished, header.opcode) {
            (None, Opcode::Continuation) => return Err(protocol("a continuation has no message")),
            (Some(_), Opcode::Text | Opcode::Binary) => {
                return Err(protocol("a message began before the previous one ended"));
            }
            (Some(unfinished), _) if unfinished.fragments >= FRAGMENTS_PER_MESSAGE_MAX => {
                return Err(too_large("a message has too many fragments"));
            }
            (Some(_), _) if header.compressed => return Err(protocol("a continuation is marked as compressed")),
            (None, _) if header.compressed && !self.compressed => return Err(protocol("a reserved bit is set")),
            _ => {}
        }
        if header.length > self.message_bytes_max.saturating_sub(self.assembled.len()) {
            return Err(too_large(MESSAGE_TOO_LARGE));
        }
        Ok(parsed)
    }

    fn take_frame(
        &mut self,
        header: &Header,
        payload: &mut [u8],
        take: &mut dyn FnMut(Incoming<'_>),
    ) -> Result<(), ProtocolError> {
        if let Some(mask) = header.mask {
            apply_mask(payload, mask);
        }
        match header.opcode {
            Opcode::Ping => take(Incoming::Ping(payload)),
            Opcode::Pong => take(Incoming::Pong(payload)),
            Opcode::Close => {
                let (code, reason) = read_close(payload)?;
                self.closed = true;
                take(Incoming::Close { code, reason });
            }
            Opcode::Text | Opcode::Binary | Opcode::Continuation => {
                let text = header.opcode == Opcode::Text;
                let first = Unfinished { text, compressed: header.compressed, fragments: 0 };
                let message = self.unfinished.take().unwrap_or(first);
                if header.last && message.fragments == 0 {
                    return self.deliver(&message, payload, take);
                }
                self.assembled.extend_from_slice(payload);
                if header.last {
                    let assembled = std::mem::take(&mut self.assembled);
                    return self.deliver(&message, &assembled, take);
                }
                self.unfinished = Some(Unfinished { fragments: message.fragments + 1, ..message });
            }
        }
        Ok(())
    }

    fn deliver(
        &self,
        message: &Unfinished,
        payload: &[u8],
        take: &mut dyn FnMut(Incoming<'_>),
    ) -> Result<(), ProtocolError> {
        let inflated;
        let payload = if message.compressed {
            inflated = deflate::inflate(payload, self.message_bytes_max)?;
            &inflated
        } else {
            payload
        };
        if message.text {
            take(Incoming::Text(std::str::from_utf8(payload).map_err(|_| not_text())?));
        } else {
            take(Incoming::Binary(payload));
        }
        Ok(())
    }
}

/// Appends an unmasked frame. The closure appends the payload to the same buffer.
///
/// Most messages are short, so the shortest header is reserved. Only a payload of 126 bytes or more is moved, by 2 or 8
/// bytes.
pub fn frame(out: &mut Vec<u8>, opcode: Opcode, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; SHORT_HEADER_BYTES]);
    write(out);
    let length = out.len() - start - SHORT_HEADER_BYTES;
    let (header, header_bytes) = write_header(FIN | opcode.bits(), length, 0);
    let moved_by = header_bytes - SHORT_HEADER_BYTES;
    if moved_by > 0 {
        let payload = start + SHORT_HEADER_BYTES;
        out.extend_from_slice(&[0; LONG_LENGTH_BYTES][..moved_by]);
        out.copy_within(payload..payload + length, payload + moved_by);
    }
    out[start..start + header_bytes].copy_from_slice(&header[..header_bytes]);
}

/// Appends an unmasked frame.
pub fn frame_bytes(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
    let (header, header_bytes) = write_header(FIN | opcode.bits(), payload.len(), 0);
    out.reserve(header_bytes + payload.len());
    out.extend_from_slice(&header[..header_bytes]);
    out.extend_from_slice(payload);
}

/// Appends an unmasked frame, compressed if that makes it shorter. Only for peers that agreed on permessage-deflate,
/// and only for text and binary messages.
pub fn compressed_frame(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
    match deflate::deflate(payload) {
        Some(deflated) => {
            let (header, header_bytes) = write_header(FIN | RSV1 | opcode.bits(), deflated.len(), 0);
            out.extend_from_slice(&header[..header_bytes]);
            out.extend_from_slice(&deflated);
        }
        None => frame_bytes(out, opcode, payload),
    }
}

/// Appends a masked frame, as a client sends it.
pub fn client_frame(out: &mut Vec<u8>, opcode: Opcode, mask: [u8; 4], payload: &[u8]) {
    let (header, header_bytes) = write_header(FIN | opcode.bits(), payload.len(), MASK);
    out.reserve(header_bytes + mask.len() + payload.len());
    out.extend_from_slice(&header[..header_bytes]);
    out.extend_from_slice(&mask);
    let start = out.len();
    out.extend_from_slice(payload);
    apply_mask(&mut out[start..], mask);
}

/// Returns the payload of a close frame. A reason that is too long is truncated at a character boundary.
pub fn close_payload(code: u16, reason: &str) -> Vec<u8> {
    let end = reason.floor_char_boundary(CONTROL_BYTES_MAX - size_of::<u16>());
    let mut payload = code.to_be_bytes().to_vec();
    payload.extend_from_slice(&reason.as_bytes()[..end]);
    payload
}

pub(super) const MESSAGE_TOO_LARGE: &str = "a message is too large";

const PROTOCOL: u16 = 1002;
const NOT_TEXT: u16 = 1007;
const TOO_LARGE: u16 = 1009;

pub(super) fn protocol(reason: &'static str) -> ProtocolError {
    ProtocolError { code: PROTOCOL, reason }
}

pub(super) fn too_large(reason: &'static str) -> ProtocolError {
    ProtocolError { code: TOO_LARGE, reason }
}

/// An incomplete message.
#[derive(Debug)]
struct Unfinished {
    text: bool,
    compressed: bool,
    fragments: u16,
}

fn read_close(payload: &[u8]) -> Result<(Option<u16>, &str), ProtocolError> {
    match payload {
        [] => Ok((None, "")),
        [_] => Err(protocol("a close code is truncated")),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            if !is_close_code(code) {
                return Err(protocol("the close code is invalid"));
            }
            Ok((Some(code), std::str::from_utf8(reason).map_err(|_| not_text())?))
        }
    }
}

/// True if a close code may be sent: registered codes, and those of libraries and applications. 1004 to 1006 and 1015
/// are only for local use.
fn is_close_code(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

fn not_text() -> ProtocolError {
    ProtocolError { code: NOT_TEXT, reason: "a text is not UTF-8" }
}
