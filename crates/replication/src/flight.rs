//! Packets that were sent on an unordered link and not yet acknowledged.

use aether_wire::{PacketSeq, StateAck, Tick};
use std::collections::VecDeque;

/// A packet counts as lost when one sent so many packets later has arrived: less is often mere overtaking.
const OVERTAKEN_MAX: u32 = 8;
/// The most packets in flight; beyond, the oldest counts as lost.
const PACKETS_MAX: usize = 512;

/// What a packet carried.
#[derive(Debug, Default)]
pub struct PacketContents {
    pub tick: Tick,
    /// The slots whose state it carried: stretches of 64, each with the bits of its slots.
    pub states: Vec<(u32, u64)>,
    /// The slots that it said were gone.
    pub removals: Vec<u32>,
}

impl PacketContents {
    /// Adds the state of some slots of a stretch. Stretches come in ascending order.
    #[inline]
    pub fn add(&mut self, word: u32, slots: u64) {
        match self.states.last_mut() {
            Some((last, bits)) if *last == word => *bits |= slots,
            _ => self.states.push((word, slots)),
        }
    }
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketFate {
    Received,
    Lost,
}

/// The log of packets in flight, oldest first.
#[derive(Debug, Default)]
pub struct PacketsInFlight {
    packets: VecDeque<Packet>,
    /// The cargo of settled packets, for its memory.
    spare: Vec<PacketContents>,
}

#[derive(Debug)]
struct Packet {
    sequence: PacketSeq,
    cargo: PacketContents,
    /// What is known to have become of it. One that counts as lost may still turn out to have arrived.
    fate: Option<PacketFate>,
}

impl PacketsInFlight {
    /// An empty cargo for the next packet.
    pub fn cargo(&mut self, tick: Tick) -> PacketContents {
        let mut cargo = self.spare.pop().unwrap_or_default();
        cargo.tick = tick;
        cargo.states.clear();
        cargo.removals.clear();
        cargo
    }

    /// Notes that a packet was sent.
    pub fn depart(&mut self, sequence: PacketSeq, cargo: PacketContents) {
        self.packets.push_back(Packet { sequence, cargo, fate: None });
    }

    /// Takes in an acknowledgement.
    pub fn acknowledge(&mut self, ack: StateAck, mut settle: impl FnMut(&PacketContents, PacketFate)) {
        let latest = ack.latest();
        // What names a packet that was never sent is no acknowledgement.
        if self.packets.back().is_none_or(|newest| latest > newest.sequence) {
            return;
        }
        for packet in self.packets.iter_mut().take_while(|packet| packet.sequence <= latest) {
            if packet.fate == Some(PacketFate::Received) {
                continue;
            }
            if ack.contains(packet.sequence) {
                packet.fate = Some(PacketFate::Received);
                settle(&packet.cargo, PacketFate::Received);
            } else if packet.fate.is_none() && latest.0 - packet.sequence.0 > OVERTAKEN_MAX {
                packet.fate = Some(PacketFate::Lost);
                settle(&packet.cargo, PacketFate::Lost);
            }
        }
        while self.packets.front().is_some_and(|packet| packet.fate == Some(PacketFate::Received)) {
            self.retire();
        }
    }

    /// Gives up packets of before `late`, so that what they carried is sent again, and forgets those of before `oldest`,
    /// whose state would be of no more use, or beyond the most that are followed.
    pub fn expire(&mut self, late: Tick, oldest: Tick, mut settle: impl FnMut(&PacketContents, PacketFate)) {
        for packet in self.packets.iter_mut().take_while(|packet| packet.cargo.tick < late) {
            if packet.fate.is_none() {
                packet.fate = Some(PacketFate::Lost);
                settle(&packet.cargo, PacketFate::Lost);
            }
        }
        while let Some(packet) = self.packets.front() {
            if packet.cargo.tick >= oldest && self.packets.len() <= PACKETS_MAX {
                break;
            }
            if packet.fate.is_none() {
                settle(&packet.cargo, PacketFate::Lost);
            }
            self.retire();
        }
    }

    fn retire(&mut self) {
        self.spare.extend(self.packets.pop_front().map(|packet| packet.cargo));
    }
}
