//! State packets that wait for the messages of their tick.

use aether_wire::StatePacket;
use std::collections::VecDeque;
use std::time::Duration;

/// Largest number of waiting packets: some snapshots of a crowded room. With more, the client does not wait.
const HELD_PACKETS_MAX: usize = 512;

/// State packets that overtook events, possessions or clearings of their tick or an earlier one. Only an unordered
/// transport makes packets wait.
#[derive(Debug, Default)]
pub(crate) struct HeldState {
    /// Number of tick messages received on this connection.
    received: u32,
    /// Packets in the order of their arrival, each with its time.
    held: VecDeque<(StatePacket, Duration)>,
    /// True after a wait was in vain, until the reliable path delivers again.
    has_given_way: bool,
}

impl HeldState {
    /// Takes a packet. Returns it if it can be applied now.
    pub fn offer(&mut self, packet: StatePacket, now: Duration, wait_max: Duration) -> Option<StatePacket> {
        let waits = packet.after > self.received && !self.has_given_way && !wait_max.is_zero();
        if !waits {
            return Some(packet);
        }
        self.held.push_back((packet, now));
        None
    }

    /// Counts a message that belongs to a tick.
    pub fn handle_tick_message(&mut self) {
        self.received = self.received.wrapping_add(1);
        self.has_given_way = false;
    }

    /// Takes the next packet whose messages have arrived or whose time is over, with the time of its arrival.
    pub fn release(&mut self, now: Duration, wait_max: Duration) -> Option<(StatePacket, Duration)> {
        let (_, oldest_at) = self.held.front()?;
        if self.held.len() > HELD_PACKETS_MAX || now.saturating_sub(*oldest_at) >= wait_max {
            self.has_given_way = true;
        }
        if self.has_given_way {
            return self.held.pop_front();
        }
        let ready = self.held.iter().position(|(packet, _)| packet.after <= self.received)?;
        self.held.remove(ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT_MAX: Duration = Duration::from_millis(250);

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn packet(number: u8, after: u32) -> StatePacket {
        StatePacket { bytes: vec![number], after }
    }

    /// Numbers of the packets that are released, each with the time of its arrival in milliseconds.
    fn released(held: &mut HeldState, now: Duration) -> Vec<(u8, u128)> {
        std::iter::from_fn(|| held.release(now, WAIT_MAX))
            .map(|(packet, arrived_at)| (packet.bytes[0], arrived_at.as_millis()))
            .collect()
    }

    #[test]
    fn a_packet_waits_for_the_messages_before_it() {
        let mut held = HeldState::default();
        assert!(held.offer(packet(0, 0), at(0), WAIT_MAX).is_some());
        assert!(held.offer(packet(1, 2), at(1), WAIT_MAX).is_none());
        assert!(held.offer(packet(2, 1), at(2), WAIT_MAX).is_none());
        assert!(held.offer(packet(3, 0), at(3), WAIT_MAX).is_some(), "it was sent before the messages");
        assert!(released(&mut held, at(4)).is_empty());
        held.handle_tick_message();
        assert_eq!(released(&mut held, at(5)), [(2, 2)]);
        held.handle_tick_message();
        assert_eq!(released(&mut held, at(6)), [(1, 1)]);
        assert!(held.offer(packet(4, 2), at(7), WAIT_MAX).is_some());
    }

    #[test]
    fn a_stalled_stream_holds_state_back_once_and_for_a_bounded_time() {
        let mut held = HeldState::default();
        assert!(held.offer(packet(1, 1), at(0), WAIT_MAX).is_none());
        assert!(held.offer(packet(2, 1), at(200), WAIT_MAX).is_none());
        assert!(released(&mut held, at(249)).is_empty());
        assert_eq!(released(&mut held, at(250)), [(1, 0), (2, 200)]);
        assert!(held.offer(packet(3, 4), at(260), WAIT_MAX).is_some(), "nothing waits while the stream stalls");
        held.handle_tick_message();
        assert!(held.offer(packet(4, 4), at(270), WAIT_MAX).is_none(), "the stream delivers again");
        assert!(held.offer(packet(5, 9), at(270), Duration::ZERO).is_some(), "waiting is turned off");
    }

    #[test]
    fn the_number_of_waiting_packets_is_bounded() {
        let mut held = HeldState::default();
        for number in 0..=HELD_PACKETS_MAX {
            assert!(held.offer(packet(0, u32::MAX), at(0), WAIT_MAX).is_none(), "{number}");
            let count = released(&mut held, at(1)).len();
            assert_eq!(count, if number == HELD_PACKETS_MAX { HELD_PACKETS_MAX + 1 } else { 0 });
        }
    }
}
