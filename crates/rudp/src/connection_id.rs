//! Identifier of a connection.

use crate::packet::{CONNECTION_ID_BYTES, Kind};

/// Identifier of a connection, chosen by the server. The highest byte is the number of the server's socket.
///
/// Only packets to the server carry it: a client has a socket per connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

impl ConnectionId {
    /// Returns the identifier with this socket number and the low 56 bits of `random`.
    pub(crate) fn new(socket: u8, random: u64) -> ConnectionId {
        ConnectionId(u64::from(socket) << 56 | random >> 8)
    }

    /// Number of the socket that accepted the connection.
    pub fn socket(self) -> u8 {
        (self.0 >> 56) as u8
    }

    /// Reads the identifier from a data packet to the server, `None` for any other datagram.
    pub fn of(datagram: &[u8]) -> Option<ConnectionId> {
        let (&first, rest) = datagram.split_first()?;
        let bytes = rest.first_chunk::<CONNECTION_ID_BYTES>()?;
        (Kind::of(first) == Some(Kind::ToServer)).then(|| ConnectionId(u64::from_be_bytes(*bytes)))
    }
}
