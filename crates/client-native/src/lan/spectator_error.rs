//! Errors of watching.

use std::fmt::{self, Display, Formatter};
use std::io;

use aether_wire::lan::StreamRefusal;

/// Reason why a room cannot be watched, or no longer.
#[derive(Debug)]
pub enum SpectatorError {
    /// The operating system reported an error.
    Io(io::Error),
    /// The server did not answer.
    NoAnswer,
    /// The server does not stream the room.
    Refused(StreamRefusal),
    /// No frames for a while: the room has ended, or the server is gone.
    Ended,
}

impl Display for SpectatorError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(formatter, "the multicast socket failed: {error}"),
            Self::NoAnswer => formatter.write_str("the server did not answer; check the network interface"),
            Self::Refused(refusal) => refusal.fmt(formatter),
            Self::Ended => formatter.write_str("the stream has ended: the room or the server is gone"),
        }
    }
}

impl std::error::Error for SpectatorError {}

impl From<io::Error> for SpectatorError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
