//! Reliable messages that are too large for one packet, cut into parts and put together again.
//!
//! ```text
//!  message, encoded:   |---------------------------------------------|
//!  fragments:          | id 7, 0 of 3 | id 7, 1 of 3 | id 7, 2 of 3  |
//! ```
//!
//! The parts may arrive in any order. State packets are never cut: each stands alone.

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
    /// The message that this is a part of. A sender gives each message its own number.
    pub message: MessageId,
    /// Which part this is, counting from 0.
    pub index: u16,
    /// How many parts the message has.
    pub total: u16,
    /// The part's bytes.
    pub bytes: Vec<u8>,
}

/// Cuts an encoded message into parts of `part_bytes`, the last of which may be shorter.
///
/// # Errors
/// A message that is empty, longer than [`RELIABLE_MESSAGE_BYTES_MAX`], or in need of more than
/// [`FRAGMENTS_PER_MESSAGE_MAX`] parts is refused as a whole, and so are parts of no bytes or
/// of more than [`FRAGMENT_BYTES_MAX`].
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

/// The parts of a message, in order.
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

/// Puts the fragments of one peer together again. Count, bytes and age of what is unfinished
/// are bounded; time is passed in as milliseconds of any steady clock.
#[derive(Debug, Default)]
pub struct Reassembler {
    open: bool,
    unfinished: BTreeMap<MessageId, Unfinished>,
    finished: VecDeque<MessageId>,
    bytes_held: usize,
    refused: u64,
}

#[derive(Debug)]
struct Unfinished {
    total: u16,
    began_ms: u64,
    bytes: usize,
    parts: BTreeMap<u16, Vec<u8>>,
}

impl Reassembler {
    /// A reassembler that refuses everything until [`Reassembler::open`] is called: who is not
    /// authenticated gets no memory.
    #[must_use]
    pub fn closed() -> Reassembler {
        Reassembler::default()
    }

    /// Begins to accept fragments, once the peer is authenticated.
    pub fn open(&mut self) {
        self.open = true;
    }

    /// Takes one fragment; the whole message when it was the last that was missing.
    ///
    /// A repeated fragment changes nothing. A message whose parts contradict each other is
    /// dropped with everything that was held for it.
    ///
    /// # Errors
    /// Says why the fragment was refused. The peer broke the protocol; close it.
    pub fn push(&mut self, fragment: Fragment, now_ms: u64) -> Result<Option<Vec<u8>>, FragmentError> {
        self.expire(now_ms);
        let outcome = self.accept(fragment, now_ms);
        if outcome.is_err() {
            self.refused += 1;
        }
        outcome
    }

    /// Drops messages that have been unfinished for too long, and says how many. Call it now
    /// and then even when nothing arrives.
    pub fn expire(&mut self, now_ms: u64) -> usize {
        let before = self.unfinished.len();
        let bytes_held = &mut self.bytes_held;
        self.unfinished.retain(|_, message| {
            let keep = now_ms.saturating_sub(message.began_ms) <= REASSEMBLY_AGE_MS_MAX;
            if !keep {
                *bytes_held -= message.bytes_held();
            }
            keep
        });
        before - self.unfinished.len()
    }

    /// Drops everything, as when the peer disconnects, and refuses fragments again.
    pub fn clear(&mut self) {
        *self = Reassembler { refused: self.refused, ..Reassembler::default() };
    }

    /// The bytes that wait for their message to be whole, bookkeeping included.
    #[must_use]
    pub fn bytes_held(&self) -> usize {
        self.bytes_held
    }

    /// How many messages are unfinished.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.unfinished.len()
    }

    /// How many fragments were refused since the beginning.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn accept(&mut self, fragment: Fragment, now_ms: u64) -> Result<Option<Vec<u8>>, FragmentError> {
        if !self.open {
            return Err(FragmentError::Closed);
        }
        check_alone(&fragment)?;
        if self.finished.contains(&fragment.message) {
            return Ok(None);
        }
        let id = fragment.message;
        match self.check_among_others(&fragment) {
            Ok(FragmentPosition::Repeated) => return Ok(None),
            Ok(FragmentPosition::New) => {}
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
        self.bytes_held += held_for(&fragment.bytes);
        message.bytes += fragment.bytes.len();
        message.parts.insert(fragment.index, fragment.bytes);
        if message.parts.len() < usize::from(message.total) {
            return Ok(None);
        }
        Ok(self.finish(id))
    }

    /// Compares a fragment with what is held already and with the peer's bounds.
    fn check_among_others(&self, fragment: &Fragment) -> Result<FragmentPosition, FragmentError> {
        let held_bytes = match self.unfinished.get(&fragment.message) {
            Some(message) => {
                if message.total != fragment.total {
                    return Err(FragmentError::TotalChanged);
                }
                match message.parts.get(&fragment.index) {
                    Some(part) if *part == fragment.bytes => return Ok(FragmentPosition::Repeated),
                    Some(_) => return Err(FragmentError::DuplicateDiffers),
                    None => message.bytes,
                }
            }
            None if self.unfinished.len() >= UNFINISHED_MESSAGES_MAX => {
                return Err(FragmentError::TooManyMessages);
            }
            None => 0,
        };
        if held_bytes + fragment.bytes.len() > RELIABLE_MESSAGE_BYTES_MAX {
            return Err(FragmentError::MessageTooLong);
        }
        if self.bytes_held + held_for(&fragment.bytes) > REASSEMBLY_BYTES_MAX {
            return Err(FragmentError::TooManyBytes);
        }
        Ok(FragmentPosition::New)
    }

    fn finish(&mut self, id: MessageId) -> Option<Vec<u8>> {
        let message = self.unfinished.remove(&id)?;
        self.bytes_held -= message.bytes_held();
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
            self.bytes_held -= message.bytes_held();
        }
    }
}

impl Unfinished {
    fn bytes_held(&self) -> usize {
        self.bytes + self.parts.len() * FRAGMENT_BOOKKEEPING_BYTES
    }
}

enum FragmentPosition {
    New,
    Repeated,
}

fn held_for(part: &[u8]) -> usize {
    part.len() + FRAGMENT_BOOKKEEPING_BYTES
}

/// What can be judged without knowing the other parts.
fn check_alone(fragment: &Fragment) -> Result<(), FragmentError> {
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

/// Why a fragment was refused, or a message could not be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentError {
    /// The peer is not authenticated yet.
    Closed,
    /// The message has no parts.
    NoParts,
    /// The message has more parts than any message may have.
    TooManyParts,
    /// The part's index is not below the number of parts.
    IndexBeyondTotal,
    /// Two parts of one message disagree about the number of parts.
    TotalChanged,
    /// The same part came twice, with different content.
    DuplicateDiffers,
    /// The part has no bytes.
    PartEmpty,
    /// The part has more bytes than fit a packet.
    PartTooLong,
    /// The whole message is longer than any message may be.
    MessageTooLong,
    /// The peer has begun too many messages without finishing them.
    TooManyMessages,
    /// The peer's unfinished messages hold too much memory.
    TooManyBytes,
}

impl FragmentError {
    /// All errors, so that counters can be made once.
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

    /// The name under which this is counted.
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
            FragmentError::Closed => "Fragments are refused before authentication.",
            FragmentError::NoParts => "The message has no parts.",
            FragmentError::TooManyParts => "The message has too many parts.",
            FragmentError::IndexBeyondTotal => "The part's index is not below the number of parts.",
            FragmentError::TotalChanged => "The number of parts changed within one message.",
            FragmentError::DuplicateDiffers => "The same part came twice with different content.",
            FragmentError::PartEmpty => "The part has no bytes.",
            FragmentError::PartTooLong => "The part has too many bytes.",
            FragmentError::MessageTooLong => "The whole message has too many bytes.",
            FragmentError::TooManyMessages => "Too many messages are unfinished.",
            FragmentError::TooManyBytes => "Unfinished messages hold too many bytes.",
        })
    }
}

impl std::error::Error for FragmentError {}
