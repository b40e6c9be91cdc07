//! Fragmentation and reassembly of reliable messages that are too large for one packet.
//!
//! ```text
//!  message, encoded:   |---------------------------------------------|
//!  fragments:          | id 7, 0 of 3 | id 7, 1 of 3 | id 7, 2 of 3  |
//! ```
//!
//! The parts may arrive in any order. State packets are never fragmented.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use crate::ids::MessageId;
use crate::limits::{
    FINISHED_MESSAGES_REMEMBERED, FRAGMENT_BOOKKEEPING_BYTES, FRAGMENT_BYTES_MAX, FRAGMENTS_PER_MESSAGE_MAX,
    REASSEMBLY_AGE_MS_MAX, REASSEMBLY_BYTES_MAX, RELIABLE_MESSAGE_BYTES_MAX, UNFINISHED_MESSAGES_MAX,
};

/// One part of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fragment {
    /// Number of the message, unique per sender.
    pub message: MessageId,
    /// Index of this part, counting from 0.
    pub index: u16,
    /// Number of parts of the message.
    pub total: u16,
    /// Bytes of this part.
    pub bytes: Vec<u8>,
}

/// Splits an encoded message into parts of `part_bytes`. The last one may be shorter.
///
/// # Errors
/// If the message is empty, longer than [`RELIABLE_MESSAGE_BYTES_MAX`], or needs more than
/// [`FRAGMENTS_PER_MESSAGE_MAX`] parts, or if `part_bytes` is zero or above [`FRAGMENT_BYTES_MAX`].
pub fn fragment(message: MessageId, bytes: &[u8], part_bytes: usize) -> Result<Fragments<'_>, FragmentError> {
    if bytes.is_empty() || part_bytes == 0 {
        return Err(FragmentError::PartEmpty);
    }
    if part_bytes > FRAGMENT_BYTES_MAX {
        return Err(FragmentError::PartTooLong);
    }
    if bytes.len() > RELIABLE_MESSAGE_BYTES_MAX {
        return Err(FragmentError::MessageTooLong);
    }
    let total = bytes.len().div_ceil(part_bytes);
    if total > usize::from(FRAGMENTS_PER_MESSAGE_MAX) {
        return Err(FragmentError::TooManyParts);
    }
    Ok(Fragments { message, total: total as u16, parts: bytes.chunks(part_bytes).enumerate() })
}

/// Parts of a message, in order.
#[derive(Clone, Debug)]
pub struct Fragments<'bytes> {
    message: MessageId,
    total: u16,
    parts: std::iter::Enumerate<std::slice::Chunks<'bytes, u8>>,
}

impl Iterator for Fragments<'_> {
    type Item = Fragment;

    fn next(&mut self) -> Option<Fragment> {
        let (index, part) = self.parts.next()?;
        Some(Fragment { message: self.message, index: index as u16, total: self.total, bytes: part.to_vec() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.parts.size_hint()
    }
}

impl ExactSizeIterator for Fragments<'_> {}

/// Reassembles the fragments of one peer. Count, bytes and age of unfinished messages are bounded. Times are
/// milliseconds of any monotonic clock.
#[derive(Debug, Default)]
pub struct Reassembler {
    open: bool,
    unfinished: BTreeMap<MessageId, Unfinished>,
    finished: VecDeque<MessageId>,
    buffered_bytes: usize,
    rejected: u64,
}

#[derive(Debug)]
struct Unfinished {
    total: u16,
    began_ms: u64,
    bytes: usize,
    parts: BTreeMap<u16, Vec<u8>>,
}

impl Reassembler {
    /// A reassembler that rejects all fragments until [`Reassembler::open`] is called, so that a peer gets no memory
    /// before authentication.
    #[must_use]
    pub fn closed() -> Reassembler {
        Reassembler::default()
    }

    /// Accepts fragments from now on. Call it once the peer is authenticated.
    pub fn open(&mut self) {
        self.open = true;
    }

    /// Adds one fragment. Returns the whole message if it was the last missing part.
    ///
    /// A repeated fragment has no effect. A message with contradictory parts is dropped.
    ///
    /// # Errors
    /// If the fragment violates the protocol. Close the connection.
    pub fn push(&mut self, fragment: Fragment, now_ms: u64) -> Result<Option<Vec<u8>>, FragmentError> {
        self.expire(now_ms);
        let outcome = self.accept(fragment, now_ms);
        if outcome.is_err() {
            self.rejected += 1;
        }
        outcome
    }

    /// Drops messages that were unfinished for too long, and returns their number. Call it from time to time, also if
    /// nothing arrives.
    pub fn expire(&mut self, now_ms: u64) -> usize {
        let before = self.unfinished.len();
        let buffered_bytes = &mut self.buffered_bytes;
        self.unfinished.retain(|_, message| {
            let is_recent = now_ms.saturating_sub(message.began_ms) <= REASSEMBLY_AGE_MS_MAX;
            if !is_recent {
                *buffered_bytes -= message.buffered_bytes();
            }
            is_recent
        });
        before - self.unfinished.len()
    }

    /// Drops everything and rejects fragments again, as after a disconnect.
    pub fn clear(&mut self) {
        *self = Reassembler { rejected: self.rejected, ..Reassembler::default() };
    }

    /// Bytes of unfinished messages, bookkeeping included.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.buffered_bytes
    }

    /// Number of unfinished messages.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.unfinished.len()
    }

    /// Number of rejected fragments since the start.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    fn accept(&mut self, fragment: Fragment, now_ms: u64) -> Result<Option<Vec<u8>>, FragmentError> {
        if !self.open {
            return Err(FragmentError::Closed);
        }
        check_fragment(&fragment)?;
        if self.finished.contains(&fragment.message) {
            return Ok(None);
        }
        let id = fragment.message;
        match self.check_with_buffered(&fragment) {
            Ok(FragmentStatus::Repeated) => return Ok(None),
            Ok(FragmentStatus::New) => {}
            Err(error) => {
                self.drop_message(id);
                return Err(error);
            }
        }
        let message = self.unfinished.entry(id).or_insert_with(|| Unfinished {
            total: fragment.total,
            began_ms: now_ms,
            bytes: 0,
            parts: BTreeMap::new(),
        });
        self.buffered_bytes += buffered_size(&fragment.bytes);
        message.bytes += fragment.bytes.len();
        message.parts.insert(fragment.index, fragment.bytes);
        if message.parts.len() < usize::from(message.total) {
            return Ok(None);
        }
        Ok(self.finish(id))
    }

    /// Checks a fragment against the buffered ones and the limits of the peer.
    fn check_with_buffered(&self, fragment: &Fragment) -> Result<FragmentStatus, FragmentError> {
        let message_bytes = match self.unfinished.get(&fragment.message) {
            Some(message) => {
                if message.total != fragment.total {
                    return Err(FragmentError::TotalChanged);
                }
                match message.parts.get(&fragment.index) {
                    Some(part) if *part == fragment.bytes => return Ok(FragmentStatus::Repeated),
                    Some(_) => return Err(FragmentError::DuplicateDiffers),
                    None => message.bytes,
                }
            }
            None if self.unfinished.len() >= UNFINISHED_MESSAGES_MAX => {
                return Err(FragmentError::TooManyMessages);
            }
            None => 0,
        };
        if message_bytes + fragment.bytes.len() > RELIABLE_MESSAGE_BYTES_MAX {
            return Err(FragmentError::MessageTooLong);
        }
        if self.buffered_bytes + buffered_size(&fragment.bytes) > REASSEMBLY_BYTES_MAX {
            return Err(FragmentError::TooManyBytes);
        }
        Ok(FragmentStatus::New)
    }

    fn finish(&mut self, id: MessageId) -> Option<Vec<u8>> {
        let message = self.unfinished.remove(&id)?;
        self.buffered_bytes -= message.buffered_bytes();
        if self.finished.len() == FINISHED_MESSAGES_REMEMBERED {
            self.finished.pop_front();
        }
        self.finished.push_back(id);
        let mut whole = Vec::with_capacity(message.bytes);
        for part in message.parts.values() {
            whole.extend_from_slice(part);
        }
        Some(whole)
    }

    fn drop_message(&mut self, id: MessageId) {
        if let Some(message) = self.unfinished.remove(&id) {
            self.buffered_bytes -= message.buffered_bytes();
        }
    }
}

impl Unfinished {
    fn buffered_bytes(&self) -> usize {
        self.bytes + self.parts.len() * FRAGMENT_BOOKKEEPING_BYTES
    }
}

enum FragmentStatus {
    New,
    Repeated,
}

fn buffered_size(part: &[u8]) -> usize {
    part.len() + FRAGMENT_BOOKKEEPING_BYTES
}

/// Checks that do not depend on the other parts.
fn check_fragment(fragment: &Fragment) -> Result<(), FragmentError> {
    if fragment.total == 0 {
        return Err(FragmentError::NoParts);
    }
    if fragment.total > FRAGMENTS_PER_MESSAGE_MAX {
        return Err(FragmentError::TooManyParts);
    }
    if fragment.index >= fragment.total {
        return Err(FragmentError::IndexBeyondTotal);
    }
    if fragment.bytes.is_empty() {
        return Err(FragmentError::PartEmpty);
    }
    if fragment.bytes.len() > FRAGMENT_BYTES_MAX {
        return Err(FragmentError::PartTooLong);
    }
    Ok(())
}

/// Error of fragmentation or reassembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentError {
    /// The peer is not authenticated yet.
    Closed,
    /// The message has no parts.
    NoParts,
    /// The message has too many parts.
    TooManyParts,
    /// The index of the part is not below the number of parts.
    IndexBeyondTotal,
    /// Two parts of one message disagree about the number of parts.
    TotalChanged,
    /// The same part arrived twice with different content.
    DuplicateDiffers,
    /// The part has no bytes.
    PartEmpty,
    /// The part does not fit a packet.
    PartTooLong,
    /// The whole message is too long.
    MessageTooLong,
    /// The peer has too many unfinished messages.
    TooManyMessages,
    /// The unfinished messages of the peer use too much memory.
    TooManyBytes,
}

impl FragmentError {
    /// All errors, so that counters can be created once.
    pub const ALL: [FragmentError; 11] = [
        FragmentError::Closed,
        FragmentError::NoParts,
        FragmentError::TooManyParts,
        FragmentError::IndexBeyondTotal,
        FragmentError::TotalChanged,
        FragmentError::DuplicateDiffers,
        FragmentError::PartEmpty,
        FragmentError::PartTooLong,
        FragmentError::MessageTooLong,
        FragmentError::TooManyMessages,
        FragmentError::TooManyBytes,
    ];

    /// Label of the counter.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            FragmentError::Closed => "closed",
            FragmentError::NoParts => "no_parts",
            FragmentError::TooManyParts => "too_many_parts",
            FragmentError::IndexBeyondTotal => "index_beyond_total",
            FragmentError::TotalChanged => "total_changed",
            FragmentError::DuplicateDiffers => "duplicate_differs",
            FragmentError::PartEmpty => "part_empty",
            FragmentError::PartTooLong => "part_too_long",
            FragmentError::MessageTooLong => "message_too_long",
            FragmentError::TooManyMessages => "too_many_messages",
            FragmentError::TooManyBytes => "too_many_bytes",
        }
    }
}

impl fmt::Display for FragmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FragmentError::Closed => "Fragments are rejected before authentication.",
            FragmentError::NoParts => "The message has no parts.",
            FragmentError::TooManyParts => "The message has too many parts.",
            FragmentError::IndexBeyondTotal => "The index of the part is not below the number of parts.",
            FragmentError::TotalChanged => "The number of parts changed within one message.",
            FragmentError::DuplicateDiffers => "The same part arrived twice with different content.",
            FragmentError::PartEmpty => "The part has no bytes.",
            FragmentError::PartTooLong => "The part has too many bytes.",
            FragmentError::MessageTooLong => "The whole message has too many bytes.",
            FragmentError::TooManyMessages => "Too many messages are unfinished.",
            FragmentError::TooManyBytes => "Unfinished messages have too many bytes.",
        })
    }
}

impl std::error::Error for FragmentError {}
