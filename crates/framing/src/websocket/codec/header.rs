//! Header of a frame.

use super::{CONTROL_BYTES_MAX, Opcode, ProtocolError, Role, protocol};

pub(super) const FIN: u8 = 0x80;
pub(super) const RSV1: u8 = 0x40;
const RSV2_AND_3: u8 = 0x30;
pub(super) const MASK: u8 = 0x80;
pub(super) const SHORT_HEADER_BYTES: usize = 2;
pub(super) const LONG_LENGTH_BYTES: usize = 8;

/// Result of parsing the first bytes of a frame.
pub(super) enum Parsed {
    Header(Header),
    /// The header needs this many bytes.
    Needs(usize),
}

impl Parsed {
    /// Number of bytes from the start of the frame that are needed to continue.
    pub(super) fn bytes_needed(&self) -> usize {
        match self {
            Self::Header(header) => header.frame_bytes(),
            Self::Needs(bytes) => *bytes,
        }
    }
}

/// Header of a frame.
pub(super) struct Header {
    pub(super) last: bool,
    pub(super) compressed: bool,
    pub(super) opcode: Opcode,
    pub(super) mask: Option<[u8; 4]>,
    pub(super) length: usize,
    /// Size of the header, in bytes.
    pub(super) bytes: usize,
}

impl Header {
    pub(super) fn frame_bytes(&self) -> usize {
        self.bytes.saturating_add(self.length)
    }

    pub(super) fn parse(bytes: &[u8], role: Role) -> Result<Parsed, ProtocolError> {
        let &[first, second, ..] = bytes else {
            return Ok(Parsed::Needs(SHORT_HEADER_BYTES));
        };
        if first & RSV2_AND_3 != 0 {
            return Err(protocol("a reserved bit is set"));
        }
        let opcode = Opcode::from_bits(first & 0x0F).ok_or(protocol("the opcode is unknown"))?;
        let last = first & FIN != 0;
        let masked = second & MASK != 0;
        match role {
            Role::Server if !masked => return Err(protocol("a client's frame is not masked")),
            Role::Client if masked => return Err(protocol("a server's frame is masked")),
            _ => {}
        }
        let short = second & !MASK;
        if opcode.is_control() && (usize::from(short) > CONTROL_BYTES_MAX || !last) {
            return Err(protocol("a control frame is too long or fragmented"));
        }
        let length_end = SHORT_HEADER_BYTES
            + match short {
                126 => 2,
                127 => LONG_LENGTH_BYTES,
                _ => 0,
            };
        let header_bytes = length_end + if masked { 4 } else { 0 };
        if bytes.len() < header_bytes {
            return Ok(Parsed::Needs(header_bytes));
        }
        Ok(Parsed::Header(Self {
            last,
            compressed: first & RSV1 != 0,
            opcode,
            mask: masked.then(|| [0, 1, 2, 3].map(|index| bytes[length_end + index])),
            length: read_length(short, &bytes[SHORT_HEADER_BYTES..length_end])?,
            bytes: header_bytes,
        }))
    }
}

/// Returns the payload length, from the short field or from the extended bytes.
fn read_length(short: u8, extended: &[u8]) -> Result<usize, ProtocolError> {
    let length = extended.iter().fold(0, |length: u64, byte| length << 8 | u64::from(*byte));
    let shortest = match extended.len() {
        0 => return Ok(usize::from(short)),
        2 => 126,
        _ => 1 << 16,
    };
    if length < shortest {
        return Err(protocol("a length is not in its shortest form"));
    }
    if length >> 63 != 0 {
        return Err(protocol("a length has its top bit set"));
    }
    // A length beyond the address space is above every limit.
    Ok(usize::try_from(length).unwrap_or(usize::MAX))
}

/// Returns a header without the mask, and its size.
pub(super) fn write_header(first: u8, length: usize, mask_bit: u8) -> ([u8; 2 + LONG_LENGTH_BYTES], usize) {
    let mut header = [0; 2 + LONG_LENGTH_BYTES];
    header[0] = first;
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short @ 0..=125), _) => {
            header[1] = mask_bit | short;
            (header, 2)
        }
        (_, Ok(medium)) => {
            header[1] = mask_bit | 126;
            header[2..4].copy_from_slice(&medium.to_be_bytes());
            (header, 4)
        }
        _ => {
            header[1] = mask_bit | 127;
            header[2..].copy_from_slice(&(length as u64).to_be_bytes());
            (header, header.len())
        }
    }
}

/// Masks or unmasks (the same operation), eight bytes at a time.
pub(super) fn apply_mask(bytes: &mut [u8], mask: [u8; 4]) {
    let [a, b, c, d] = mask;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask.into_iter().cycle()) {
        *byte ^= mask;
    }
}
