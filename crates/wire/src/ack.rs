//! Acknowledgement of state packets.

use crate::ids::PacketSeq;
use crate::limits::ACK_WINDOW_PACKETS;

/// State packets that a client has received: the newest one, and a bit for each of the 64 before it.
///
/// ```text
///  packets   … 57 58 59 60 61            latest = 61
///  arrived      x  x  -  x  x            before = …1101  (bit 0 is packet 60)
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateAck {
    latest: PacketSeq,
    before: u64,
}

impl StateAck {
    /// No packet has arrived.
    pub const NONE: StateAck = StateAck { latest: PacketSeq(0), before: 0 };

    /// Acknowledges the newest packet and those before it: bit `i` is packet `latest - 1 - i`. Bits of packets before
    /// the first one are ignored.
    #[must_use]
    pub fn new(latest: PacketSeq, before: u64) -> StateAck {
        StateAck { latest, before: before & existing(latest) }
    }

    /// Newest packet that has arrived, or zero if none has.
    #[must_use]
    pub fn latest(self) -> PacketSeq {
        self.latest
    }

    /// Packets before the newest one that have arrived: bit `i` is packet `latest - 1 - i`.
    #[must_use]
    pub fn before(self) -> u64 {
        self.before
    }

    /// Packets before the newest one that are missing. The wire carries this form: it is nearly always zero, and zero
    /// takes no byte.
    #[must_use]
    pub fn missing(self) -> u64 {
        !self.before & existing(self.latest)
    }

    /// Acknowledges `latest` and all packets of the window except `missing`.
    #[must_use]
    pub fn from_missing(latest: PacketSeq, missing: u64) -> StateAck {
        StateAck::new(latest, !missing)
    }

    /// True if `packet` has arrived.
    #[must_use]
    pub fn contains(self, packet: PacketSeq) -> bool {
        if packet.0 == 0 || packet > self.latest {
            return false;
        }
        match self.latest.0 - packet.0 {
            0 => true,
            age if age <= ACK_WINDOW_PACKETS => self.before >> (age - 1) & 1 == 1,
            _ => false,
        }
    }

    /// Packets that have arrived, newest first.
    pub fn packets(self) -> impl Iterator<Item = PacketSeq> {
        (0..=ACK_WINDOW_PACKETS)
            .filter_map(move |age| self.latest.0.checked_sub(age).map(PacketSeq))
            .filter(move |packet| self.contains(*packet))
    }

    /// Records that `packet` has arrived. Returns false if it is a duplicate or older than the window; drop such a
    /// packet.
    pub fn record(&mut self, packet: PacketSeq) -> bool {
        if packet > self.latest {
            let steps = packet.0 - self.latest.0;
            // The previous newest packet becomes a bit.
            let window = u128::from(self.before) << 1 | u128::from(self.latest.0 != 0);
            let shifted = if steps <= ACK_WINDOW_PACKETS { window << (steps - 1) } else { 0 };
            *self = StateAck::new(packet, shifted as u64);
            return true;
        }
        let age = self.latest.0 - packet.0;
        if packet.0 == 0 || age > ACK_WINDOW_PACKETS || self.contains(packet) {
            return false;
        }
        self.before |= 1 << (age - 1);
        true
    }
}

/// Bits before `latest` that belong to a packet. Packets count from 1.
fn existing(latest: PacketSeq) -> u64 {
    let earlier = latest.0.saturating_sub(1);
    if earlier >= ACK_WINDOW_PACKETS { u64::MAX } else { (1 << earlier) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_below_the_first_do_not_exist() {
        assert_eq!(StateAck::new(PacketSeq(3), u64::MAX).before(), 0b11);
        assert_eq!(StateAck::new(PacketSeq(0), u64::MAX), StateAck::NONE);
        assert_eq!(StateAck::new(PacketSeq(1), u64::MAX).before(), 0);
        assert_eq!(StateAck::new(PacketSeq(65), u64::MAX).before(), u64::MAX);
        assert_eq!(StateAck::new(PacketSeq(64), u64::MAX).before(), u64::MAX >> 1);
    }

    #[test]
    fn packets_are_recorded_in_any_order() {
        let mut ack = StateAck::NONE;
        for packet in [2, 1, 5, 4, 66, 70] {
            assert!(ack.record(PacketSeq(packet)), "{packet} is new");
        }
        for packet in [2, 5, 70, 0] {
            assert!(!ack.record(PacketSeq(packet)), "{packet} is not new");
        }
        // 5 and 4 are older than the window of 64 before 70. 6 is the oldest in it.
        assert_eq!(ack.packets().collect::<Vec<_>>(), [PacketSeq(70), PacketSeq(66)]);
        assert!(ack.record(PacketSeq(6)));
        assert!(ack.contains(PacketSeq(6)));
        assert!(!ack.record(PacketSeq(5)), "older than the window");
    }

    #[test]
    fn a_jump_beyond_the_window_clears_it() {
        for (jump, expected) in [(64, 1 << 63), (65, 0), (1_000_000, 0)] {
            let mut ack = StateAck::new(PacketSeq(100), u64::MAX);
            ack.record(PacketSeq(100 + jump));
            assert_eq!(ack.before(), expected, "jump of {jump}");
        }
    }

    #[test]
    fn missing_and_before_are_equivalent() {
        for (latest, before) in [(0, 0), (1, 0), (9, 0b1011_0011), (400, 0x00ff_00ff_00ff_00ff)] {
            let ack = StateAck::new(PacketSeq(latest), before);
            assert_eq!(StateAck::from_missing(ack.latest(), ack.missing()), ack);
        }
        assert_eq!(StateAck::new(PacketSeq(9), u64::MAX).missing(), 0);
    }
}
