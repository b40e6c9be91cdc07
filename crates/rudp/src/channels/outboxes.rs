//! Outboxes of both reliable channels.

use super::outbox::Outbox;
use crate::frame::ReliableChannel;
use crate::sent_ring::{Segment, SentRing};

/// Outboxes of both reliable channels.
pub(crate) struct Outboxes {
    pub ordered: Outbox,
    pub unordered: Outbox,
}

impl Outboxes {
    pub(crate) fn new() -> Outboxes {
        Outboxes { ordered: Outbox::new(ReliableChannel::Ordered), unordered: Outbox::new(ReliableChannel::Unordered) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ordered.is_empty() && self.unordered.is_empty()
    }

    /// Returns true if `fill` has something to write.
    pub(crate) fn has_segment(&self) -> bool {
        self.ordered.has_segment() || self.unordered.has_segment()
    }

    /// Bytes that were never sent.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.ordered.unsent_bytes() + self.unordered.unsent_bytes()
    }

    /// Bytes that were sent and are not acknowledged.
    pub(crate) fn unacknowledged_bytes(&self) -> usize {
        self.ordered.unacknowledged_bytes() + self.unordered.unacknowledged_bytes()
    }

    /// Writes segments into a packet until it has `end` bytes. Returns the number of those that were sent before.
    pub(crate) fn fill(&mut self, out: &mut Vec<u8>, end: usize, ring: &mut SentRing) -> u64 {
        self.ordered.fill(out, end, ring) + self.unordered.fill(out, end, ring)
    }

    /// A segment has arrived.
    pub(crate) fn acknowledged(&mut self, segment: Segment) {
        self.of(segment.channel).acknowledged(segment);
    }

    /// A segment was lost, or is to be sent again to be sure.
    pub(crate) fn lost(&mut self, segment: Segment) {
        self.of(segment.channel).lost(segment);
    }

    /// Frees memory that is not in use.
    pub(crate) fn release(&mut self) {
        self.ordered.release();
        self.unordered.release();
    }

    fn of(&mut self, channel: ReliableChannel) -> &mut Outbox {
        match channel {
            ReliableChannel::Ordered => &mut self.ordered,
            ReliableChannel::Unordered => &mut self.unordered,
        }
    }
}
