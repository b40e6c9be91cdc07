//! Model of a network: loss, bursts of loss, delay, jitter, duplicates, reordering, stalls, and a bottleneck.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::time::Duration;

use super::random::Random;

/// Faults of one direction. Probabilities are in thousandths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub loss: u64,
    pub duplicates: u64,
    pub reordering: u64,
    pub jitter: Duration,
    /// Probability with which a burst of loss begins at a datagram.
    pub bursts: u64,
    /// Longest burst.
    pub burst_max: Duration,
    /// Probability with which the path stalls at a datagram: everything arrives late, at once.
    pub stalls: u64,
    /// Longest stall.
    pub stall_max: Duration,
}

/// Bottleneck of one direction: a rate and a queue that drops its tail.
#[derive(Clone, Copy, Debug)]
pub struct Bottleneck {
    pub bytes_per_second: u64,
    pub queue_bytes: u64,
}

/// Datagram under way.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Datagram {
    pub arrives: Duration,
    number: u64,
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub bytes: Vec<u8>,
}

/// One direction of a network.
pub struct Link {
    pub faults: Faults,
    pub delay: Duration,
    pub bottleneck: Option<Bottleneck>,
    random: Random,
    under_way: BinaryHeap<Reverse<Datagram>>,
    count: u64,
    lossy_until: Duration,
    stalled_until: Duration,
    /// Moment at which the bottleneck has sent everything.
    busy_until: Duration,
    pub sent: u64,
    pub dropped: u64,
}

impl Link {
    pub fn new(seed: u64, delay: Duration, faults: Faults) -> Link {
        Link {
            faults,
            delay,
            bottleneck: None,
            random: Random::new(seed),
            under_way: BinaryHeap::new(),
            count: 0,
            lossy_until: Duration::ZERO,
            stalled_until: Duration::ZERO,
            busy_until: Duration::ZERO,
            sent: 0,
            dropped: 0,
        }
    }

    /// Ends all faults. What is under way still arrives late.
    pub fn heal(&mut self) {
        self.faults = Faults::default();
        self.lossy_until = Duration::ZERO;
        self.stalled_until = Duration::ZERO;
    }

    pub fn send(&mut self, now: Duration, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        self.sent += 1;
        let faults = self.faults;
        if self.random.chance(faults.bursts) {
            self.lossy_until = now + self.random.time(faults.burst_max);
        }
        if self.random.chance(faults.stalls) {
            self.stalled_until = now + self.random.time(faults.stall_max);
        }
        if now < self.lossy_until || self.random.chance(faults.loss) {
            self.dropped += 1;
            return;
        }
        let Some(leaves) = self.pass_bottleneck(now, bytes.len() as u64) else {
            self.dropped += 1;
            return;
        };
        let copies = 1 + u32::from(self.random.chance(faults.duplicates));
        for _ in 0..copies {
            let mut arrives = leaves.max(self.stalled_until) + self.delay + self.random.time(faults.jitter);
            if self.random.chance(faults.reordering) {
                arrives += self.random.time(Duration::from_millis(60));
            }
            self.count += 1;
            self.under_way.push(Reverse(Datagram { arrives, number: self.count, from, to, bytes: bytes.to_vec() }));
        }
    }

    /// Moment of the next arrival.
    pub fn next_arrival(&self) -> Option<Duration> {
        self.under_way.peek().map(|Reverse(datagram)| datagram.arrives)
    }

    /// Next datagram that has arrived.
    pub fn receive(&mut self, now: Duration) -> Option<Datagram> {
        self.next_arrival().filter(|arrival| *arrival <= now)?;
        self.under_way.pop().map(|Reverse(datagram)| datagram)
    }

    fn pass_bottleneck(&mut self, now: Duration, bytes: u64) -> Option<Duration> {
        let Some(bottleneck) = self.bottleneck else { return Some(now) };
        let queued = self.busy_until.saturating_sub(now).as_micros() as u64 * bottleneck.bytes_per_second / 1_000_000;
        if queued + bytes > bottleneck.queue_bytes {
            return None;
        }
        let time = Duration::from_nanos(bytes * 1_000_000_000 / bottleneck.bytes_per_second);
        self.busy_until = self.busy_until.max(now) + time;
        Some(self.busy_until)
    }
}
