//! Packets that were sent on an unordered link and not yet acknowledged.

use aether_wire::{PacketSeq, Tick};
use std::collections::VecDeque;

/// A packet counts as lost when one sent so many packets later has arrived: less is often mere overtaking.
const OVERTAKEN_MAX: u32 = 8;
/// The most packets in flight; beyond, the oldest counts as lost.
const PACKETS_MAX: usize = 512;

/// What a packet carried for one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cargo {
    /// Its state.
    State(u32),
    /// The news that it is gone.
    Removal(u32),
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Received,
    Lost,
}

/// The log of packets in flight.
#[derive(Debug, Default)]
pub struct Flight {
    packets: VecDeque<Packet>,
    cargo: VecDeque<Cargo>,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    sequence: PacketSeq,
    tick: Tick,
    cargo_len: usize,
    open: bool,
}

impl Flight {
    /// Notes one more thing in the packet being written.
    #[inline]
    pub fn load(&mut self, cargo: Cargo) {
        self.cargo.push_back(cargo);
    }

    /// Notes that the packet with the last `cargo_len` things was sent.
    pub fn depart(&mut self, sequence: PacketSeq, tick: Tick, cargo_len: usize) {
        self.packets.push_back(Packet {
            sequence,
            tick,
            cargo_len,
            open: true,
        });
    }

    /// Takes in an acknowledgement: `latest` arrived, and of the 64 before it those whose bit is set.
    pub fn acknowledge(
        &mut self,
        latest: PacketSeq,
        bitmap: u64,
        mut settle: impl FnMut(Cargo, Tick, Fate),
    ) {
        let newest = self
            .packets
            .back()
            .map_or(PacketSeq(0), |packet| packet.sequence);
        if latest > newest {
            // It names a packet that was never sent, or nothing is in flight.
            return;
        }
        let mut first = 0;
        for packet in &mut self.packets {
            if packet.sequence > latest {
                break;
            }
            let before = latest.0 - packet.sequence.0;
            let received = before == 0 || before <= 64 && bitmap >> (before - 1) & 1 == 1;
            if packet.open && (received || before > OVERTAKEN_MAX) {
                packet.open = false;
                let fate = if received { Fate::Received } else { Fate::Lost };
                for index in first..first + packet.cargo_len {
                    settle(self.cargo[index], packet.tick, fate);
                }
            }
            first += packet.cargo_len;
        }
        self.drop_settled();
    }

    /// Gives up packets older than `oldest`, and those beyond the most that are followed.
    pub fn expire(&mut self, oldest: Tick, mut settle: impl FnMut(Cargo, Tick, Fate)) {
        while let Some(packet) = self.packets.front() {
            if packet.open && packet.tick >= oldest && self.packets.len() <= PACKETS_MAX {
                break;
            }
            let packet = *packet;
            self.packets.pop_front();
            for cargo in self.cargo.drain(..packet.cargo_len) {
                if packet.open {
                    settle(cargo, packet.tick, Fate::Lost);
                }
            }
        }
    }

    fn drop_settled(&mut self) {
        while let Some(packet) = self.packets.front()
            && !packet.open
        {
            self.cargo.drain(..packet.cargo_len);
            self.packets.pop_front();
        }
    }
}
