//! Reliable messages on their way to the peer.

use std::collections::VecDeque;

use super::byte_queue::ByteQueue;
use crate::channel::SendError;
use crate::frame::{Frame, Piece, ReliableChannel};
use crate::limits::{FRAGMENT_BYTES, MESSAGES_UNDER_WAY_MAX, WINDOW_BYTES_MAX};
use crate::sent_ring::{Segment, SentRing};

/// Memory of a message besides its bytes, counted so that empty messages are bounded too.
const MESSAGE_OVERHEAD_BYTES: usize = size_of::<Outgoing>();

/// Messages of a reliable channel from the oldest that is not acknowledged to the newest.
pub(crate) struct Outbox {
    channel: ReliableChannel,
    bytes: ByteQueue,
    messages: VecDeque<Outgoing>,
    /// Number of `messages[0]`.
    first: u64,
    /// First segment that was never sent.
    unsent: (u64, u8),
    /// Segments that were lost, in the order in which they were found to be.
    lost: VecDeque<(u64, u8)>,
    /// Bytes that the receiver may have to hold: messages from the first to the last that was begun.
    window_bytes: usize,
    queued_bytes: usize,
    unsent_bytes: usize,
    unacknowledged_bytes: usize,
}

struct Outgoing {
    position: u64,
    length: u32,
    total: u8,
    /// Segments that are not acknowledged, as bits.
    missing: u64,
    /// Segments in the queue of lost ones, as bits.
    lost: u64,
}

impl Outbox {
    pub(crate) fn new(channel: ReliableChannel) -> Outbox {
        Outbox {
            channel,
            bytes: ByteQueue::default(),
            messages: VecDeque::new(),
            first: 0,
            unsent: (0, 0),
            lost: VecDeque::new(),
            window_bytes: 0,
            queued_bytes: 0,
            unsent_bytes: 0,
            unacknowledged_bytes: 0,
        }
    }

    /// Queues a message.
    pub(crate) fn push(&mut self, message: &[u8], queue_bytes_max: usize) -> Result<(), SendError> {
        if self.queued_bytes + message.len() + MESSAGE_OVERHEAD_BYTES > queue_bytes_max {
            return Err(SendError::QueueFull);
        }
        let total = message.len().div_ceil(FRAGMENT_BYTES).max(1);
        self.messages.push_back(Outgoing {
            position: self.bytes.push(message),
            length: message.len() as u32,
            total: total as u8,
            missing: u64::MAX >> (u64::BITS as usize - total),
            lost: 0,
        });
        self.queued_bytes += message.len() + MESSAGE_OVERHEAD_BYTES;
        self.unsent_bytes += message.len();
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Bytes that were never sent.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.unsent_bytes
    }

    /// Bytes that were sent and are not acknowledged.
    pub(crate) fn unacknowledged_bytes(&self) -> usize {
        self.unacknowledged_bytes
    }

    /// Returns true if `fill` has something to write.
    pub(crate) fn has_segment(&self) -> bool {
        !self.lost.is_empty() || self.next_unsent().is_some()
    }

    /// Writes segments into a packet until it has `end` bytes, lost ones first. Returns the number of those.
    pub(crate) fn fill(&mut self, out: &mut Vec<u8>, end: usize, ring: &mut SentRing) -> u64 {
        let mut resends = 0;
        while let Some(&(number, index)) = self.lost.front() {
            let Some(message) = self.find(number) else {
                self.lost.pop_front();
                continue;
            };
            if self.messages[message].missing & 1 << index != 0 {
                if !self.write(message, index, out, end, ring) {
                    return resends;
                }
                resends += 1;
            }
            self.messages[message].lost &= !(1 << index);
            self.lost.pop_front();
        }
        while let Some(message) = self.next_unsent() {
            let index = self.unsent.1;
            if !self.write(message, index, out, end, ring) {
                break;
            }
            self.advance(message, index);
        }
        resends
    }

    /// A segment has arrived.
    pub(crate) fn acknowledged(&mut self, segment: Segment) {
        let Some(index) = self.find_segment(segment) else { return };
        let message = &mut self.messages[index];
        let bit = 1 << segment.index;
        if message.missing & bit == 0 {
            return;
        }
        message.missing &= !bit;
        self.unacknowledged_bytes -= message.range(segment.index).1;
        while let Some(message) = self.messages.front()
            && message.missing == 0
        {
            self.window_bytes -= message.window_bytes();
            self.queued_bytes -= message.length as usize + MESSAGE_OVERHEAD_BYTES;
            self.bytes.remove_before(message.position + u64::from(message.length));
            self.messages.pop_front();
            self.first += 1;
        }
    }

    /// A segment was lost, or is to be sent again to be sure.
    pub(crate) fn lost(&mut self, segment: Segment) {
        let Some(index) = self.find_segment(segment) else { return };
        let message = &mut self.messages[index];
        let bit = 1 << segment.index;
        if message.missing & bit != 0 && message.lost & bit == 0 {
            message.lost |= bit;
            self.lost.push_back((self.first + index as u64, segment.index));
        }
    }

    /// Frees memory that is not in use.
    pub(crate) fn release(&mut self) {
        if self.messages.is_empty() {
            self.bytes.release();
            self.messages = VecDeque::new();
            self.lost = VecDeque::new();
        }
    }

    /// Index of the message of the first segment that was never sent, if the window has room for it.
    fn next_unsent(&self) -> Option<usize> {
        let (number, fragment) = self.unsent;
        let message = self.find(number)?;
        let has_room = self.window_bytes + self.messages[message].window_bytes() <= WINDOW_BYTES_MAX
            && number - self.first < MESSAGES_UNDER_WAY_MAX;
        (fragment > 0 || has_room).then_some(message)
    }

    /// Counts the first unsent segment as sent.
    fn advance(&mut self, message: usize, index: u8) {
        let message = &self.messages[message];
        if index == 0 {
            self.window_bytes += message.window_bytes();
        }
        let length = message.range(index).1;
        self.unsent_bytes -= length;
        self.unacknowledged_bytes += length;
        self.unsent = if index + 1 < message.total { (self.unsent.0, index + 1) } else { (self.unsent.0 + 1, 0) };
    }

    fn write(&self, message: usize, index: u8, out: &mut Vec<u8>, end: usize, ring: &mut SentRing) -> bool {
        let number = self.first + message as u64;
        let message = &self.messages[message];
        let (position, length) = message.range(index);
        let bytes = self.bytes.get(position, length);
        let frame = Frame::Reliable(self.channel, Piece { number: number as u16, index, total: message.total, bytes });
        if out.len() + frame.encoded_bytes() > end {
            return false;
        }
        frame.write(out);
        ring.add_segment(Segment { message: number as u32, index, channel: self.channel });
        true
    }

    fn find(&self, number: u64) -> Option<usize> {
        let index = number.checked_sub(self.first)? as usize;
        (index < self.messages.len()).then_some(index)
    }

    fn find_segment(&self, segment: Segment) -> Option<usize> {
        let index = segment.message.wrapping_sub(self.first as u32) as usize;
        (index < self.messages.len()).then_some(index)
    }
}

impl Outgoing {
    /// Position and length of a segment.
    fn range(&self, index: u8) -> (u64, usize) {
        let start = usize::from(index) * FRAGMENT_BYTES;
        (self.position + start as u64, (self.length as usize - start).min(FRAGMENT_BYTES))
    }

    fn window_bytes(&self) -> usize {
        window_bytes(self.total, self.length as usize)
    }
}

/// Bytes of the receiver's window that a message takes. Before the last fragment the receiver does not know the length.
pub(super) fn window_bytes(total: u8, length: usize) -> usize {
    if total == 1 { length } else { usize::from(total) * FRAGMENT_BYTES }
}
