//! Packets that were sent on an unordered link and not yet acknowledged.

use aether_wire::{PacketSeq, StateAck, Tick};
use std::collections::VecDeque;

/// A packet counts as lost when one sent so many packets later has arrived: less is often mere overtaking.
const OVERTAKEN_MAX: u32 = 8;
/// The most packets in flight; beyond, the oldest counts as lost.
const PACKETS_MAX: usize = 512;

/// What a packet carried.
#[derive(Debug, Default)]
pub struct Cargo {
    pub tick: Tick,
    /// The slots whose state it carried: stretches of 64, each with the bits of its slots.
    pub states: Vec<(u32, u64)>,
    /// The slots that it said were gone.
    pub removals: Vec<u32>,
}

impl Cargo {
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
pub enum Fate {
    Received,
    Lost,
}

/// The log of packets in flight, oldest first.
#[derive(Debug, Default)]
pub struct Flight {
    packets: VecDeque<Packet>,
    /// The cargo of settled packets, for its memory.
    spare: Vec<Cargo>,
}

#[derive(Debug)]
struct Packet {
    sequence: PacketSeq,
    cargo: Cargo,
    /// What is known to have become of it. One that counts as lost may still turn out to have arrived.
    fate: Option<Fate>,
}

impl Flight {
    /// An empty cargo for the next packet.
    pub fn cargo(&mut self, tick: Tick) -> Cargo {
        let mut cargo = self.spare.pop().unwrap_or_default();
        cargo.tick = tick;
        cargo.states.clear();
        cargo.removals.clear();
        cargo
    }

    /// Notes that a packet was sent.
    pub fn depart(&mut self, sequence: PacketSeq, cargo: Cargo) {
        self.packets.push_back(Packet { sequence, cargo, fate: None });
    }

    /// Takes in an acknowledgement.
    pub fn acknowledge(&mut self, ack: StateAck, mut settle: impl FnMut(&Cargo, Fate)) {
        let latest = ack.latest();
        // What names a packet that was never sent is no acknowledgement.
        if self.packets.back().is_none_or(|newest| latest > newest.sequence) {
            return;
        }
        for packet in self.packets.iter_mut().take_while(|packet| packet.sequence <= latest) {
            if packet.fate == Some(Fate::Received) {
                continue;
            }
            if ack.contains(packet.sequence) {
                packet.fate = Some(Fate::Received);
                settle(&packet.cargo, Fate::Received);
            } else if packet.fate.is_none() && latest.0 - packet.sequence.0 > OVERTAKEN_MAX {
                packet.fate = Some(Fate::Lost);
                settle(&packet.cargo, Fate::Lost);
            }
        }
        while self.packets.front().is_some_and(|packet| packet.fate == Some(Fate::Received)) {
            self.retire();
        }
    }

    /// Gives up packets of before `late`, so that what they carried is sent again, and forgets those of before `oldest`,
    /// whose state would be of no more use, or beyond the most that are followed.
    pub fn expire(&mut self, late: Tick, oldest: Tick, mut settle: impl FnMut(&Cargo, Fate)) {
        for packet in self.packets.iter_mut().take_while(|packet| packet.cargo.tick < late) {
            if packet.fate.is_none() {
                packet.fate = Some(Fate::Lost);
                settle(&packet.cargo, Fate::Lost);
            }
        }
        while let Some(packet) = self.packets.front() {
            if packet.cargo.tick >= oldest && self.packets.len() <= PACKETS_MAX {
                break;
            }
            if packet.fate.is_none() {
                settle(&packet.cargo, Fate::Lost);
            }
            self.retire();
        }
    }

    fn retire(&mut self) {
        self.spare.extend(self.packets.pop_front().map(|packet| packet.cargo));
    }
}
