//! Which state packets have arrived.

use crate::ids::PacketSeq;
use crate::limits::ACK_WINDOW_PACKETS;

/// Which state packets a client has received: the newest, and which of the 64 before it.
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
    /// Nothing has arrived yet.
    pub const NONE: StateAck = StateAck { latest: PacketSeq(0), before: 0 };

    /// The newest packet, and the ones before it: bit `i` stands for packet `latest - 1 - i`.
    /// Bits for packets below the first one mean nothing and are dropped.
    #[must_use]
    pub fn new(latest: PacketSeq, before: u64) -> StateAck {
        StateAck { latest, before: before & existing(latest) }
    }

    /// The newest packet that has arrived; zero when none has.
    #[must_use]
    pub fn latest(self) -> PacketSeq {
        self.latest
    }

    /// Which packets before the newest have arrived: bit `i` stands for `latest - 1 - i`.
    #[must_use]
    pub fn before(self) -> u64 {
        self.before
    }

    /// Which packets before the newest are missing. On the wire this is what is written: it is
    /// zero nearly always, and zero costs no byte.
    #[must_use]
    pub fn missing(self) -> u64 {
        !self.before & existing(self.latest)
    }

    /// The acknowledgement of `latest` and everything in the window but `missing`.
    #[must_use]
    pub fn from_missing(latest: PacketSeq, missing: u64) -> StateAck {
        StateAck::new(latest, !missing)
    }

    /// Whether this says that `packet` has arrived.
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

    /// The packets that have arrived, newest first.
    pub fn packets(self) -> impl Iterator<Item = PacketSeq> {
        (0..=ACK_WINDOW_PACKETS)
            .filter_map(move |age| self.latest.0.checked_sub(age).map(PacketSeq))
            .filter(move |packet| self.contains(*packet))
    }

    /// Notes that `packet` has arrived. False when it had arrived before, or is so old that
    /// nobody can tell: such a packet is to be dropped.
    pub fn record(&mut self, packet: PacketSeq) -> bool {
        if packet > self.latest {
            let steps = packet.0 - self.latest.0;
            // The former newest becomes one bit among those before.
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

/// The bits before `latest` that stand for a packet, since packets count from 1.
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
    fn recording_any_order_yields_what_arrived() {
        let mut ack = StateAck::NONE;
        for packet in [2, 1, 5, 4, 66, 70] {
            assert!(ack.record(PacketSeq(packet)), "{packet} is new");
        }
        for packet in [2, 5, 70, 0] {
            assert!(!ack.record(PacketSeq(packet)), "{packet} is not new");
        }
        // 5 and 4 left the window of 64 before 70 at its lower end: 6 is the oldest in it.
        assert_eq!(ack.packets().collect::<Vec<_>>(), [PacketSeq(70), PacketSeq(66)]);
        assert!(ack.record(PacketSeq(6)));
        assert!(ack.contains(PacketSeq(6)));
        assert!(!ack.record(PacketSeq(5)), "too old to tell");
    }

    #[test]
    fn a_jump_beyond_the_window_forgets_it() {
        for (jump, expected) in [(64, 1 << 63), (65, 0), (1_000_000, 0)] {
            let mut ack = StateAck::new(PacketSeq(100), u64::MAX);
            ack.record(PacketSeq(100 + jump));
            assert_eq!(ack.before(), expected, "jump of {jump}");
        }
    }

    #[test]
    fn missing_and_before_are_two_views_of_one_thing() {
        for (latest, before) in [(0, 0), (1, 0), (9, 0b1011_0011), (400, 0x00ff_00ff_00ff_00ff)] {
            let ack = StateAck::new(PacketSeq(latest), before);
            assert_eq!(StateAck::from_missing(ack.latest(), ack.missing()), ack);
        }
        assert_eq!(StateAck::new(PacketSeq(9), u64::MAX).missing(), 0);
    }
}
