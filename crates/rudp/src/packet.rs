//! Outer form of the packets: kinds, headers, packet numbers.
//!
//! ```text
//!  data to the server:   kind|flags 1   connection id 8   number 2   sealed payload   tag 16
//!  data to the client:   kind|flags 1                     number 2   sealed payload   tag 16
//!
//!  payload:   [newest 2   delay 1   length 1   bitmap 0..64]   frames
//! ```

use crate::connection_id::ConnectionId;

/// Version of the protocol, in requests and responses.
pub(crate) const VERSION: u8 = 1;

/// Length of a connection id.
pub(crate) const CONNECTION_ID_BYTES: usize = 8;

/// Length of a packet number on the wire.
pub(crate) const NUMBER_BYTES: usize = 2;

/// Length of the longest header of a data packet.
pub(crate) const HEADER_BYTES_MAX: usize = 1 + CONNECTION_ID_BYTES + NUMBER_BYTES;

/// Length of an acknowledgement without its bitmap.
pub(crate) const ACK_HEADER_BYTES: usize = 4;

/// Longest bitmap of an acknowledgement.
pub(crate) const ACK_BITMAP_BYTES_MAX: usize = 64;

/// Length of the longest acknowledgement.
pub(crate) const ACK_BYTES_MAX: usize = ACK_HEADER_BYTES + ACK_BITMAP_BYTES_MAX;

/// Flag: the payload begins with an acknowledgement.
pub(crate) const FLAG_ACK: u8 = 1;

/// Flag: the sender asks for an acknowledgement at once.
pub(crate) const FLAG_ACK_NOW: u8 = 2;

/// Kind of a packet: the high four bits of its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Request = 0x90,
    Challenge = 0xA0,
    Response = 0xB0,
    Accept = 0xC0,
    ToServer = 0xD0,
    ToClient = 0xE0,
}

impl Kind {
    /// Kind of a packet by its first byte. Packets of the handshake have no flags.
    pub(crate) fn of(first: u8) -> Option<Kind> {
        match first {
            0x90 => Some(Kind::Request),
            0xA0 => Some(Kind::Challenge),
            0xB0 => Some(Kind::Response),
            0xC0 => Some(Kind::Accept),
            0xD0..=0xDF => Some(Kind::ToServer),
            0xE0..=0xEF => Some(Kind::ToClient),
            _ => None,
        }
    }
}

/// Side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    /// Kind of the data packets that this side sends.
    pub(crate) fn sends(self) -> Kind {
        match self {
            Side::Client => Kind::ToServer,
            Side::Server => Kind::ToClient,
        }
    }

    /// Kind of the data packets that this side receives.
    pub(crate) fn receives(self) -> Kind {
        match self {
            Side::Client => Kind::ToClient,
            Side::Server => Kind::ToServer,
        }
    }
}

/// Length of the header of a data packet.
pub(crate) fn header_bytes(kind: Kind) -> usize {
    match kind {
        Kind::ToServer => HEADER_BYTES_MAX,
        _ => 1 + NUMBER_BYTES,
    }
}

/// Writes the header of a data packet.
pub(crate) fn write_header(out: &mut Vec<u8>, kind: Kind, flags: u8, id: ConnectionId, number: u64) {
    out.push(kind as u8 | flags);
    if kind == Kind::ToServer {
        out.extend_from_slice(&id.0.to_be_bytes());
    }
    out.extend_from_slice(&(number as u16).to_be_bytes());
}

/// Completes a 16-bit number to the one nearest to `expected`. `None` if that would be below zero.
pub(crate) fn expand_number(expected: u64, low: u16) -> Option<u64> {
    let distance = i64::from(low.wrapping_sub(expected as u16) as i16);
    expected.checked_add_signed(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_number_is_completed_near_the_expected_one() {
        for (expected, number) in [(0, 0), (5, 3), (65_535, 65_536), (65_540, 65_500), (1 << 40, (1 << 40) + 32_767)] {
            assert_eq!(expand_number(expected, number as u16), Some(number));
        }
        assert_eq!(expand_number(3, 65_530), None);
        assert_eq!(expand_number(u64::MAX, 0), None);
    }
}
