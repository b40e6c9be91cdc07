//! Ring of the packets that were sent, indexed by their numbers.

use std::collections::VecDeque;
use std::time::Duration;

use crate::frame::ReliableChannel;
use crate::limits::PACKETS_UNDER_WAY_MAX;

/// Slots of the first allocation.
const SLOTS_MIN: usize = 16;

/// Slots at most. Half of them are left for packets without content, which need no acknowledgement.
const SLOTS_MAX: usize = 2 * PACKETS_UNDER_WAY_MAX as usize;

/// Reliable content of a packet: a message or a fragment of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Low 32 bits of the message number.
    pub message: u32,
    pub index: u8,
    pub channel: ReliableChannel,
}

/// Fate of a sent packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Has content and is not acknowledged.
    UnderWay,
    /// Has no content that needs an acknowledgement.
    Empty,
    Acknowledged,
    Lost,
}

/// Packet that was sent.
#[derive(Clone, Copy)]
pub(crate) struct SentPacket {
    pub sent_at: Duration,
    /// Newest packet of the peer that it acknowledged.
    pub reported: Option<u64>,
    pub bytes: u16,
    pub fate: Fate,
    /// Its segments follow those of the packets before it.
    segments: u16,
    segments_at: u32,
}

/// Ring of sent packets. It holds everything from the oldest packet under way to the newest packet.
#[derive(Default)]
pub(crate) struct SentRing {
    /// A power of two, or none.
    slots: Vec<SentPacket>,
    oldest: u64,
    next: u64,
    /// Segments of the packets, in their order.
    segments: VecDeque<Segment>,
    /// Count of segments removed, so that the position of a segment is a difference.
    segments_removed: u32,
    /// Segments of the packet being written.
    segments_open: u16,
}

impl SentRing {
    /// Number of the next packet.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Number of the oldest packet that may be under way.
    pub(crate) fn oldest(&self) -> u64 {
        self.oldest
    }

    /// Returns true if a packet with content has a slot.
    pub(crate) fn has_room(&self) -> bool {
        self.next - self.oldest < PACKETS_UNDER_WAY_MAX
    }

    /// Returns true if a packet without content has a slot.
    pub(crate) fn has_slot(&self) -> bool {
        self.next - self.oldest < SLOTS_MAX as u64
    }

    /// Adds a segment to the packet being written.
    pub(crate) fn add_segment(&mut self, segment: Segment) {
        self.segments.push_back(segment);
        self.segments_open += 1;
    }

    /// Records the packet that was written.
    pub(crate) fn push(&mut self, sent_at: Duration, bytes: usize, reported: Option<u64>, fate: Fate) {
        if self.next - self.oldest >= self.slots.len() as u64 {
            self.grow();
        }
        let segments = std::mem::take(&mut self.segments_open);
        let segments_at = self.segments_removed.wrapping_add(self.segments.len() as u32).wrapping_sub(segments.into());
        let packet = SentPacket { sent_at, reported, bytes: bytes as u16, fate, segments, segments_at };
        let slot = self.slot(self.next);
        self.slots[slot] = packet;
        self.next += 1;
        self.retire();
    }

    /// Packet with this number, if its slot is not in use for a later one.
    pub(crate) fn get(&self, number: u64) -> Option<&SentPacket> {
        let is_held = number < self.next && self.next - number <= self.slots.len() as u64;
        is_held.then(|| &self.slots[self.slot(number)])
    }

    /// Changes the fate of a packet that is held.
    pub(crate) fn set_fate(&mut self, number: u64, fate: Fate) {
        let slot = self.slot(number);
        self.slots[slot].fate = fate;
    }

    /// Segments of a packet under way.
    pub(crate) fn segments(&self, packet: &SentPacket) -> impl Iterator<Item = Segment> {
        let start = packet.segments_at.wrapping_sub(self.segments_removed) as usize;
        self.segments.range(start..start + usize::from(packet.segments)).copied()
    }

    /// Forgets the oldest packets that are not under way.
    pub(crate) fn retire(&mut self) {
        while self.oldest < self.next {
            let packet = self.slots[self.slot(self.oldest)];
            if packet.fate == Fate::UnderWay {
                break;
            }
            self.segments.drain(..usize::from(packet.segments));
            self.segments_removed = self.segments_removed.wrapping_add(packet.segments.into());
            self.oldest += 1;
        }
    }

    /// Frees the memory of a ring without packets under way.
    pub(crate) fn release(&mut self) {
        if self.oldest == self.next && self.slots.len() > SLOTS_MIN {
            self.slots = Vec::new();
            self.segments = VecDeque::new();
        }
    }

    /// Sets the number of the next packet of a ring without packets under way.
    pub(crate) fn skip_to(&mut self, number: u64) {
        *self = SentRing { oldest: number, next: number, ..SentRing::default() };
    }

    fn slot(&self, number: u64) -> usize {
        number as usize & (self.slots.len() - 1)
    }

    fn grow(&mut self) {
        let length = (2 * self.slots.len()).max(SLOTS_MIN);
        let vacant = SentPacket {
            sent_at: Duration::ZERO,
            reported: None,
            bytes: 0,
            fate: Fate::Acknowledged,
            segments: 0,
            segments_at: 0,
        };
        let mut slots = vec![vacant; length];
        for number in self.oldest..self.next {
            slots[number as usize & (length - 1)] = self.slots[self.slot(number)];
        }
        self.slots = slots;
    }
}
