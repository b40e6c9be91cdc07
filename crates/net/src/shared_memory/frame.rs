//! Frames of a region.
//!
//! ```text
//! 0        1        2        4        8            16
//! | kind   | detail | 0      | value  | connection | body
//! ```
//!
//! | kind | from | detail | value | body |
//! |---|---|---|---|---|
//! | 1 open | driver | | | [`OpenBody`] as JSON |
//! | 2 message | both | bit 0: unreliable; bit 1: more follows | | bytes of the message |
//! | 3 probe | both | | | |
//! | 4 credit | both | | handled bytes | |
//! | 5 limit | game | | longest message of the client | |
//! | 6 close | game | | | [`CloseBody`] as JSON |
//! | 7 closed | both | reason | | |
//! | 8 offer | driver | | | [`OfferBody`] as JSON; connection 0 |
//!
//! Numbers have the byte order of the machine. A connection is numbered by its driver, from 1; a number is not used again.

use crate::transport::TransportEnded;
use aether_framing::FramingError;
use aether_wire::{Closing, DeliveryPath, RoomSelector};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

/// Bytes of a frame before its body.
pub(super) const HEADER_BYTES: usize = 16;

/// Detail of a message that goes over an unreliable path.
pub(super) const UNRELIABLE: u8 = 1;
/// Detail of a message whose rest follows.
pub(super) const MORE: u8 = 2;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    Open = 1,
    Message = 2,
    Probe = 3,
    Credit = 4,
    Limit = 5,
    Close = 6,
    Closed = 7,
    Offer = 8,
}

/// A frame without its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub kind: FrameKind,
    pub detail: u8,
    pub value: u32,
    pub connection: u64,
}

impl FrameHeader {
    /// Creates a header without detail and value.
    pub fn new(kind: FrameKind, connection: u64) -> FrameHeader {
        FrameHeader { kind, detail: 0, value: 0, connection }
    }

    /// Header of the last frame of a connection.
    pub fn closed(connection: u64, ended: TransportEnded) -> FrameHeader {
        FrameHeader { detail: end_number(ended), ..FrameHeader::new(FrameKind::Closed, connection) }
    }

    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = self.kind as u8;
        bytes[1] = self.detail;
        bytes[4..8].copy_from_slice(&self.value.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.connection.to_ne_bytes());
        bytes
    }

    /// Reads the header of a frame and returns it with the body; none for a frame that no version sends.
    pub fn read(frame: &[u8]) -> Option<(FrameHeader, &[u8])> {
        let (header, body) = frame.split_first_chunk::<HEADER_BYTES>()?;
        let kind = match header[0] {
            1 => FrameKind::Open,
            2 => FrameKind::Message,
            3 => FrameKind::Probe,
            4 => FrameKind::Credit,
            5 => FrameKind::Limit,
            6 => FrameKind::Close,
            7 => FrameKind::Closed,
            8 => FrameKind::Offer,
            _ => return None,
        };
        let value = u32::from_ne_bytes([header[4], header[5], header[6], header[7]]);
        let connection = u64::from_ne_bytes(*header.last_chunk()?);
        Some((FrameHeader { kind, detail: header[1], value, connection }, body))
    }

    /// Delivery path of a message.
    pub fn path(&self) -> DeliveryPath {
        if self.detail & UNRELIABLE == 0 { DeliveryPath::Reliable } else { DeliveryPath::Unreliable }
    }

    /// Returns true for a frame that the window of its connection counts.
    pub fn is_counted(&self) -> bool {
        matches!(self.kind, FrameKind::Message | FrameKind::Probe)
    }

    /// End of the connection that a closed frame names.
    pub fn end(&self) -> TransportEnded {
        match self.detail {
            0 => TransportEnded::Closed,
            2.. => TransportEnded::Violation(violation(self.detail - 2)),
            1 => TransportEnded::Lost,
        }
    }
}

/// Content of an open frame: a new client of the driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenBody {
    pub address: IpAddr,
    pub is_local: bool,
    /// Name of the client's transport.
    pub transport: String,
    /// Name of the encoding.
    pub encoding: String,
    /// True if state packets arrive in order and without loss.
    pub is_ordered: bool,
    pub detects_silence: bool,
    pub room: Option<RoomSelector>,
    /// Account that the transport has proven, if it proves one.
    pub account: Option<String>,
}

/// Content of a close frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum CloseBody {
    Closing(Closing),
    Violation(u8),
}

/// Content of an offer frame: addresses on which the driver listens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct OfferBody {
    pub udp: Option<SocketAddr>,
}

/// Transports whose names metrics and logs show. The name of another one is shown as `driver`.
const TRANSPORT_NAMES: [&str; 4] = ["websocket", "webtransport", "udp", "memory"];

/// Returns the name of a client's transport.
pub(super) fn transport_name(name: &str) -> &'static str {
    TRANSPORT_NAMES.into_iter().find(|known| *known == name).unwrap_or("driver")
}

fn end_number(ended: TransportEnded) -> u8 {
    match ended {
        TransportEnded::Closed => 0,
        TransportEnded::Lost => 1,
        TransportEnded::Violation(error) => 2 + violation_number(error),
    }
}

/// Number of a framing error.
pub(super) fn violation_number(error: FramingError) -> u8 {
    match error {
        FramingError::Protocol(_) => 0,
        FramingError::WrongKind(_) => 1,
        FramingError::NotText(_) => 2,
        FramingError::Excess(_) => 3,
        FramingError::Oversized(_) => 4,
    }
}

/// Returns the framing error with a number. Its text is general: texts do not pass the ring.
pub(super) fn violation(number: u8) -> FramingError {
    match number {
        1 => FramingError::WrongKind("the subprotocol uses the other type of message"),
        2 => FramingError::NotText("a text is not UTF-8"),
        3 => FramingError::Excess("more than the transport accepts"),
        4 => FramingError::Oversized("the message is too large"),
        _ => FramingError::Protocol("the framing is wrong"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_were_written() {
        let header = FrameHeader { kind: FrameKind::Message, detail: UNRELIABLE, value: 77, connection: u64::MAX - 1 };
        let frame = [&header.to_bytes()[..], b"body"].concat();
        assert_eq!(FrameHeader::read(&frame), Some((header, b"body".as_slice())));
        assert_eq!(header.path(), DeliveryPath::Unreliable);
    }

    #[test]
    fn short_frames_and_unknown_kinds_are_refused() {
        assert_eq!(FrameHeader::read(&[2; HEADER_BYTES - 1]), None);
        assert_eq!(FrameHeader::read(&[]), None);
        for kind in (0..=u8::MAX).filter(|kind| !(1..=8).contains(kind)) {
            assert_eq!(FrameHeader::read(&[kind; HEADER_BYTES]), None);
        }
    }

    #[test]
    fn ends_keep_their_kind() {
        let violations = (0..5).map(|number| TransportEnded::Violation(violation(number)));
        for ended in [TransportEnded::Closed, TransportEnded::Lost].into_iter().chain(violations) {
            assert_eq!(FrameHeader::closed(1, ended).end(), ended);
        }
        let unknown = FrameHeader { detail: 255, ..FrameHeader::new(FrameKind::Closed, 1) };
        assert!(matches!(unknown.end(), TransportEnded::Violation(_)));
    }

    #[test]
    fn names_of_other_transports_become_driver() {
        assert_eq!(transport_name("udp"), "udp");
        assert_eq!(transport_name("carrier pigeon"), "driver");
    }
}
