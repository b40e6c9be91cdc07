//! Reader and writer of the fields of a packet.

use super::{LAN_DATAGRAM_BYTES_MAX, LAN_VERSION, SIGNATURE_BYTES};
use std::fmt;

/// First bytes of every packet.
const MAGIC: [u8; 4] = *b"ALAN";

/// Bytes of the header.
pub(super) const HEADER_BYTES: usize = MAGIC.len() + 2;

/// Kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketKind {
    Query = 1,
    Answer = 2,
    Watch = 3,
    Offer = 4,
    Frame = 5,
}

/// Reason why a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LanDecodeError {
    /// Not a packet of this protocol, or one of another version or kind.
    Foreign,
    /// Shorter than its padding or longer than a datagram.
    Length,
    /// A field is missing, too long or has an invalid value.
    Malformed,
}

impl LanDecodeError {
    /// Short label, for counting.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            LanDecodeError::Foreign => "foreign",
            LanDecodeError::Length => "length",
            LanDecodeError::Malformed => "malformed",
        }
    }
}

impl fmt::Display for LanDecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LanDecodeError::Foreign => "not a packet of the local network protocol of this version",
            LanDecodeError::Length => "the packet has a wrong length",
            LanDecodeError::Malformed => "a field of the packet is invalid",
        })
    }
}

impl std::error::Error for LanDecodeError {}

/// Public key of a server: an Ed25519 key, which is its identity on the local network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerKey(pub [u8; 32]);

impl ServerKey {
    /// Short id, which a query names to address one server. 0 stands for all servers.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.0.first_chunk().map_or(1, |first| u64::from_le_bytes(*first).max(1))
    }
}

impl fmt::Display for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerKey({self})")
    }
}

impl std::str::FromStr for ServerKey {
    type Err = LanDecodeError;

    /// Parses 64 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, LanDecodeError> {
        let mut key = [0; 32];
        if text.len() != 2 * key.len() || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(LanDecodeError::Malformed);
        }
        for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| LanDecodeError::Malformed)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| LanDecodeError::Malformed)?;
        }
        Ok(ServerKey(key))
    }
}

/// Splits a packet of a server into the signed bytes and the signature.
#[must_use]
pub fn signed_part(packet: &[u8]) -> Option<(&[u8], &[u8; SIGNATURE_BYTES])> {
    packet.split_last_chunk()
}

/// Returns true if a packet is an answer, such as an announcement.
#[must_use]
pub fn is_answer(packet: &[u8]) -> bool {
    packet.starts_with(&MAGIC) && packet.get(HEADER_BYTES - 1) == Some(&(PacketKind::Answer as u8))
}

/// Writes the fields of a packet.
pub(super) struct Writer(pub Vec<u8>);

impl Writer {
    pub fn new(kind: PacketKind) -> Writer {
        let mut bytes = Vec::with_capacity(LAN_DATAGRAM_BYTES_MAX);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[LAN_VERSION, kind as u8]);
        Writer(bytes)
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    pub fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    pub fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    /// Writes a text without its control characters, cut to the bound.
    pub fn text(&mut self, text: &str, bytes_max: usize) {
        let start = self.0.len();
        self.0.push(0);
        for character in text.chars().filter(|character| !character.is_control()) {
            if self.0.len() - start - 1 + character.len_utf8() > bytes_max.min(usize::from(u8::MAX)) {
                break;
            }
            self.bytes(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        self.0[start] = (self.0.len() - start - 1) as u8;
    }

    pub fn padded(mut self, bytes: usize) -> Vec<u8> {
        debug_assert!(self.0.len() <= bytes, "the fields fit");
        self.0.resize(bytes, 0);
        self.0
    }
}

/// Reads the fields of a packet.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Begins to read a packet of a kind.
    pub fn new(kind: PacketKind, packet: &'a [u8]) -> Result<Self, LanDecodeError> {
        if packet.len() > LAN_DATAGRAM_BYTES_MAX {
            return Err(LanDecodeError::Length);
        }
        let (header, rest) = packet.split_first_chunk::<HEADER_BYTES>().ok_or(LanDecodeError::Foreign)?;
        let is_ours = header[..4] == MAGIC && header[4] == LAN_VERSION && header[5] == kind as u8;
        if is_ours { Ok(Reader(rest)) } else { Err(LanDecodeError::Foreign) }
    }

    /// Begins to read a packet of a server, which ends with a signature. The caller verifies it.
    pub fn signed(kind: PacketKind, packet: &'a [u8]) -> Result<Self, LanDecodeError> {
        let (signed, _) = signed_part(packet).ok_or(LanDecodeError::Foreign)?;
        if packet.len() > LAN_DATAGRAM_BYTES_MAX {
            return Err(LanDecodeError::Length);
        }
        Reader::new(kind, signed)
    }

    /// Begins to read bytes that are no packet.
    pub fn of(bytes: &'a [u8]) -> Self {
        Reader(bytes)
    }

    pub fn bytes(&mut self, length: usize) -> Result<&'a [u8], LanDecodeError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(LanDecodeError::Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], LanDecodeError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(LanDecodeError::Malformed)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub fn u8(&mut self) -> Result<u8, LanDecodeError> {
        self.array().map(u8::from_le_bytes)
    }

    pub fn u16(&mut self) -> Result<u16, LanDecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, LanDecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, LanDecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn text(&mut self, bytes_max: usize) -> Result<String, LanDecodeError> {
        let length = usize::from(self.u8()?);
        if length > bytes_max {
            return Err(LanDecodeError::Malformed);
        }
        let text = std::str::from_utf8(self.bytes(length)?).map_err(|_| LanDecodeError::Malformed)?;
        if text.chars().any(char::is_control) { Err(LanDecodeError::Malformed) } else { Ok(text.to_owned()) }
    }

    /// Reads a count or length with an upper bound.
    pub fn count(&mut self, max: usize) -> Result<usize, LanDecodeError> {
        let count = usize::from(self.u16()?);
        if count > max { Err(LanDecodeError::Malformed) } else { Ok(count) }
    }

    /// Returns all bytes that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// Checks that nothing is left.
    pub fn end(self) -> Result<(), LanDecodeError> {
        if self.0.is_empty() { Ok(()) } else { Err(LanDecodeError::Malformed) }
    }
}
