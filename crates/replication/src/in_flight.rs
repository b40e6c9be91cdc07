//! [`PacketsInFlight`]: packets of unordered delivery that are not acknowledged yet.

use aether_wire::{PacketSeq, StateAck, Tick};
use std::collections::VecDeque;

/// A packet counts as lost when one sent this many packets later has arrived. Less is often reordering.
const OVERTAKEN_MAX: u32 = 8;
/// Maximum number of packets in flight. Beyond it, the oldest counts as lost.
const PACKETS_MAX: usize = 512;

/// Contents of a packet.
#[derive(Debug, Default)]
pub struct PacketContents {
    pub tick: Tick,
    /// Slots whose state it carried: words of 64 slots, each with the bits of its slots.
    pub states: Vec<(u32, u64)>,
    /// Slots that it removed.
    pub removals: Vec<u32>,
}

impl PacketContents {
    /// Adds the state of some slots of a word. Words must be added in ascending order.
    #[inline]
    pub fn add(&mut self, word: u32, slots: u64) {
        match self.states.last_mut() {
            Some((last, bits)) if *last == word => *bits |= slots,
            _ => self.states.push((word, slots)),
        }
    }
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketFate {
    Received,
    Lost,
}

/// Packets in flight, oldest first.
#[derive(Debug, Default)]
pub struct PacketsInFlight {
    packets: VecDeque<Packet>,
    /// Contents of finished packets, for reuse of their memory.
    spare: Vec<PacketContents>,
}

#[derive(Debug)]
struct Packet {
    sequence: PacketSeq,
    contents: PacketContents,
    /// Known fate. A packet that counts as lost may still be acknowledged.
    fate: Option<PacketFate>,
}

impl PacketsInFlight {
    /// Returns empty contents for the next packet.
    pub fn new_contents(&mut self, tick: Tick) -> PacketContents {
        let mut contents = self.spare.pop().unwrap_or_default();
        contents.tick = tick;
        contents.states.clear();
        contents.removals.clear();
        contents
    }

    /// Adds a packet that was sent.
    pub fn add(&mut self, sequence: PacketSeq, contents: PacketContents) {
        self.packets.push_back(Packet { sequence, contents, fate: None });
    }

    /// Handles an acknowledgement.
    pub fn acknowledge(&mut self, ack: StateAck, mut settle: impl FnMut(&PacketContents, PacketFate)) {
        let latest = ack.latest();
        // An acknowledgement of a packet that was never sent is ignored.
        if self.packets.back().is_none_or(|newest| latest > newest.sequence) {
            return;
        }
        for packet in self.packets.iter_mut().take_while(|packet| packet.sequence <= latest) {
            if packet.fate == Some(PacketFate::Received) {
                continue;
            }
            if ack.contains(packet.sequence) {
                packet.fate = Some(PacketFate::Received);
                settle(&packet.contents, PacketFate::Received);
            } else if packet.fate.is_none() && latest.0 - packet.sequence.0 > OVERTAKEN_MAX {
                packet.fate = Some(PacketFate::Lost);
                settle(&packet.contents, PacketFate::Lost);
            }
        }
        while self.packets.front().is_some_and(|packet| packet.fate == Some(PacketFate::Received)) {
            self.retire();
        }
    }

    /// Marks packets from before `late` as lost, so that their contents are sent again. Forgets packets from before
    /// `oldest`, whose state is no longer usable as a baseline, and those beyond the maximum number.
    pub fn expire(&mut self, late: Tick, oldest: Tick, mut settle: impl FnMut(&PacketContents, PacketFate)) {
        for packet in self.packets.iter_mut().take_while(|packet| packet.contents.tick < late) {
            if packet.fate.is_none() {
                packet.fate = Some(PacketFate::Lost);
                settle(&packet.contents, PacketFate::Lost);
            }
        }
        while let Some(packet) = self.packets.front() {
            if packet.contents.tick >= oldest && self.packets.len() <= PACKETS_MAX {
                break;
            }
            if packet.fate.is_none() {
                settle(&packet.contents, PacketFate::Lost);
            }
            self.retire();
        }
    }

    fn retire(&mut self) {
        self.spare.extend(self.packets.pop_front().map(|packet| packet.contents));
    }
}
