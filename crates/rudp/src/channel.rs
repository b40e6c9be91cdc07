//! Channels of a connection.

use std::fmt;

use crate::limits::{MESSAGE_BYTES_MAX, UNRELIABLE_BYTES_MAX};

/// Delivery of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    /// Arrives exactly once, in the order of sending.
    ReliableOrdered,
    /// Arrives exactly once, as soon as it can.
    ReliableUnordered,
    /// Arrives at most once, never after a message that was sent later.
    Sequenced,
    /// Arrives at most once.
    Unreliable,
}

impl Channel {
    /// Returns an error if a message of this length is too long for the channel.
    pub(crate) fn check_length(self, length: usize) -> Result<(), SendError> {
        let length_max = match self {
            Channel::ReliableOrdered | Channel::ReliableUnordered => MESSAGE_BYTES_MAX,
            Channel::Sequenced | Channel::Unreliable => UNRELIABLE_BYTES_MAX,
        };
        if length > length_max { Err(SendError::TooLong) } else { Ok(()) }
    }
}

/// Reason not to queue a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// Longer than a message of the channel may be.
    TooLong,
    /// The queue of the reliable channel is full; the peer or the path is too slow.
    QueueFull,
    /// The connection is closing or closed.
    Closed,
}

impl fmt::Display for SendError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            SendError::TooLong => "the message is longer than its channel allows",
            SendError::QueueFull => "the queue of the reliable channel is full; send less or wait",
            SendError::Closed => "the connection is closed",
        })
    }
}

impl std::error::Error for SendError {}
