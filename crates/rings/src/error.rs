//! Errors.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Violation of the ring's rules by the other process. The region must not be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingError {
    /// A cursor is out of range.
    Cursor,
    /// The length of a message is out of range.
    Length,
}

impl RingError {
    /// Short name for logs and metric labels.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            RingError::Cursor => "cursor",
            RingError::Length => "length",
        }
    }
}

impl fmt::Display for RingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RingError::Cursor => f.write_str("the other process wrote a cursor that is out of range"),
            RingError::Length => f.write_str("the other process wrote a message length that is out of range"),
        }
    }
}

impl std::error::Error for RingError {}

/// Reason why a message was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrySendError {
    /// The ring has no space; the other process reads too slowly.
    Full,
    /// The message is longer than the ring accepts.
    TooLong,
    /// The other process violated the ring's rules.
    Ring(RingError),
}

impl From<RingError> for TrySendError {
    fn from(error: RingError) -> TrySendError {
        TrySendError::Ring(error)
    }
}

impl fmt::Display for TrySendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrySendError::Full => f.write_str("the ring is full; the other process reads too slowly"),
            TrySendError::TooLong => f.write_str("the message is longer than the ring accepts; use a larger ring"),
            TrySendError::Ring(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TrySendError {}

/// Reason why two processes do not share a region.
#[derive(Debug)]
pub enum AttachError {
    /// A call of the system failed.
    System(&'static str, io::Error),
    /// No process listens on the socket.
    NotListening(PathBuf),
    /// Another process listens on the socket.
    InUse(PathBuf),
    /// Something that is not a socket has this path.
    NotSocket(PathBuf),
    /// The other process belongs to another user.
    OtherUser(u32),
    /// The other process speaks another version.
    Version(u64),
    /// The size of a ring is out of range.
    RingBytes(usize),
    /// The greeting is too long.
    Greeting(usize),
    /// The other process violated the handshake.
    Handshake(&'static str),
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttachError::System(call, error) => write!(f, "shared memory: {call} failed: {error}"),
            AttachError::NotListening(path) => {
                write!(f, "no game server listens on {}; start it, or correct the path", path.display())
            }
            AttachError::InUse(path) => {
                write!(f, "another program listens on {}; stop it, or use another path", path.display())
            }
            AttachError::NotSocket(path) => {
                write!(f, "{} is not a socket; remove the file, or use another path", path.display())
            }
            AttachError::OtherUser(user) => {
                write!(f, "the other process belongs to user {user}; run both programs as the same user")
            }
            AttachError::Version(version) => {
                let own = crate::layout::VERSION;
                write!(f, "the other process has version {version} of the rings, this one {own}; update the older one")
            }
            AttachError::RingBytes(bytes) => {
                let (min, max) = (crate::RING_BYTES_MIN, crate::RING_BYTES_MAX);
                write!(f, "a ring of {bytes} bytes is not possible; use {min} to {max}")
            }
            AttachError::Greeting(bytes) => {
                write!(f, "a greeting of {bytes} bytes is too long; {} are allowed", crate::GREETING_BYTES_MAX)
            }
            AttachError::Handshake(what) => write!(f, "the other process violated the handshake: {what}"),
        }
    }
}

impl std::error::Error for AttachError {}
