//! [`Conditioner`]: a simulated network. It reads no clock.
//!
//! The TypeScript SDK has the same model in `conditioner.ts`; `tests/client/golden/conditioner.txt` compares the two.

use aether_bits::Random;
use std::collections::BTreeMap;
use std::time::Duration;

/// Properties of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Minimum one-way latency.
    pub latency: Duration,
    /// Maximum additional latency. Jitter alone preserves the order, like a queue that fills and drains.
    pub jitter: Duration,
    /// Share of packets that are lost, from 0 to 1.
    pub loss: f32,
    /// Share of packets that are duplicated.
    pub duplication: f32,
    /// Share of packets that are delayed so that later ones overtake them.
    pub reordering: f32,
    /// Bandwidth limit, if there is one.
    pub bandwidth: Option<Bandwidth>,
}

/// Bandwidth limit of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    /// Bytes per second.
    pub bytes_per_second: u64,
    /// Maximum bytes in the queue. Datagrams beyond it are lost.
    pub queue_bytes_max: u64,
}

impl Conditions {
    /// A perfect network: everything arrives at once.
    pub const PERFECT: Conditions = Conditions {
        latency: Duration::ZERO,
        jitter: Duration::ZERO,
        loss: 0.0,
        duplication: 0.0,
        reordering: 0.0,
        bandwidth: None,
    };

    /// A good home connection.
    pub const BROADBAND: Conditions = Conditions {
        latency: Duration::from_millis(20),
        jitter: Duration::from_millis(5),
        loss: 0.002,
        ..Conditions::PERFECT
    };

    /// A moving mobile phone.
    pub const MOBILE: Conditions = Conditions {
        latency: Duration::from_millis(60),
        jitter: Duration::from_millis(60),
        loss: 0.03,
        duplication: 0.01,
        reordering: 0.02,
        bandwidth: Some(Bandwidth { bytes_per_second: 60_000, queue_bytes_max: 24_000 }),
    };

    /// The worst network that a game must survive.
    pub const STORM: Conditions = Conditions {
        latency: Duration::from_millis(100),
        jitter: Duration::from_millis(200),
        loss: 0.30,
        duplication: 0.05,
        reordering: 0.10,
        bandwidth: None,
    };
}

/// Delivery guarantee of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Packets are lost, duplicated and reordered.
    Datagrams,
    /// Everything arrives once and in order. A loss adds the time of a retransmission and delays later packets.
    Stream,
}

/// Traffic counts of a conditioner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets sent.
    pub sent: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets lost by chance or for lack of bandwidth; on a stream, retransmissions.
    pub lost: u64,
    /// Packets duplicated.
    pub doubled: u64,
    /// Packets delivered.
    pub delivered: u64,
}

/// One direction of a network, over one path. It has no clock: `now` is the time since a fixed moment.
#[derive(Debug)]
pub struct Conditioner<P> {
    conditions: Conditions,
    delivery: Delivery,
    random: Random,
    /// Packets by arrival time. The number separates packets with the same time.
    under_way: BTreeMap<(Duration, u64), (P, usize)>,
    bytes_under_way: usize,
    next_number: u64,
    /// Time at which the bandwidth is free again.
    free_at: Duration,
    /// Arrival time of the last packet in order.
    last_arrival: Duration,
    traffic: Traffic,
}

impl<P: Clone> Conditioner<P> {
    /// Returns an empty network. The same seed treats the same packets in the same way.
    #[must_use]
    pub fn new(conditions: Conditions, delivery: Delivery, seed: u64) -> Self {
        Conditioner {
            conditions,
            delivery,
            random: Random::new(seed),
            under_way: BTreeMap::new(),
            bytes_under_way: 0,
            next_number: 0,
            free_at: Duration::ZERO,
            last_arrival: Duration::ZERO,
            traffic: Traffic::default(),
        }
    }

    /// Sets the conditions for packets from now on. Packets in flight are not changed.
    pub fn set_conditions(&mut self, conditions: Conditions) {
        self.conditions = conditions;
    }

    /// Makes the network perfect from now on. Delayed packets of a stream arrive at once; delayed datagrams stay late.
    pub fn heal(&mut self, now: Duration) {
        self.conditions = Conditions::PERFECT;
        self.free_at = now;
        if self.delivery == Delivery::Stream {
            self.last_arrival = now;
            let under_way = std::mem::take(&mut self.under_way);
            self.under_way =
                under_way.into_iter().map(|((at, number), packet)| ((at.min(now), number), packet)).collect();
        }
    }

    /// Sends a packet of `bytes` bytes.
    pub fn push(&mut self, now: Duration, packet: P, bytes: usize) {
        let [arrival, duplicate] = self.arrivals(now, bytes);
        if let Some(later) = duplicate {
            self.deliver_at(later, packet.clone(), bytes);
        }
        if let Some(arrival) = arrival {
            self.deliver_at(arrival, packet, bytes);
        }
    }

    /// Returns the times at which the next packet and its duplicate arrive, if they do.
    fn arrivals(&mut self, now: Duration, bytes: usize) -> [Option<Duration>; 2] {
        self.traffic.sent += 1;
        self.traffic.bytes += bytes as u64;
        let Some(departure) = self.depart(now, bytes as u64) else {
            self.traffic.lost += 1;
            return [None; 2];
        };
        match self.delivery {
            Delivery::Stream => [Some(self.stream_arrival(departure)), None],
            Delivery::Datagrams => self.datagram_arrivals(departure),
        }
    }

    /// Takes the next packet that has arrived by `now`.
    pub fn pop(&mut self, now: Duration) -> Option<P> {
        let first = self.under_way.first_entry().filter(|first| first.key().0 <= now)?;
        self.traffic.delivered += 1;
        let (packet, bytes) = first.remove();
        self.bytes_under_way -= bytes;
        Some(packet)
    }

    /// Returns the bytes in flight.
    #[must_use]
    pub fn bytes_under_way(&self) -> usize {
        self.bytes_under_way
    }

    /// Returns the number of packets in flight.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Returns the traffic counts.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Returns the time at which a packet has passed the bandwidth limit; none if the queue is full.
    fn depart(&mut self, now: Duration, bytes: u64) -> Option<Duration> {
        let Some(Bandwidth { bytes_per_second, queue_bytes_max }) = self.conditions.bandwidth else {
            return Some(now);
        };
        let wait = self.free_at.saturating_sub(now);
        let queue_bytes = wait.as_micros() * u128::from(bytes_per_second) / 1_000_000;
        let is_full = queue_bytes + u128::from(bytes) > u128::from(queue_bytes_max);
        if is_full && self.delivery == Delivery::Datagrams {
            return None;
        }
        // Rounded up: a shorter time would exceed the bandwidth.
        let time = Duration::from_micros((bytes * 1_000_000).div_ceil(bytes_per_second.max(1)));
        self.free_at = now + wait + time;
        Some(self.free_at)
    }

    fn datagram_arrivals(&mut self, departure: Duration) -> [Option<Duration>; 2] {
        let Conditions { latency, jitter, loss, duplication, reordering, .. } = self.conditions;
        if self.happens(loss) {
            self.traffic.lost += 1;
            return [None; 2];
        }
        let direct = departure + latency + self.up_to(jitter);
        let arrival = if self.happens(reordering) {
            direct + self.up_to(latency + jitter + OVERTAKING_MIN)
        } else {
            self.last_arrival = self.last_arrival.max(direct);
            self.last_arrival
        };
        let mut duplicate = None;
        if self.happens(duplication) {
            self.traffic.doubled += 1;
            duplicate = Some(arrival + self.up_to(jitter + OVERTAKING_MIN));
        }
        [Some(arrival), duplicate]
    }

    fn stream_arrival(&mut self, departure: Duration) -> Duration {
        let Conditions { latency, jitter, loss, .. } = self.conditions;
        let mut direct = departure + latency + self.up_to(jitter);
        for _ in 0..RESENDS_MAX {
            if !self.happens(loss) {
                break;
            }
            self.traffic.lost += 1;
            direct += 2 * latency + jitter;
        }
        self.last_arrival = self.last_arrival.max(direct);
        self.last_arrival
    }

    fn deliver_at(&mut self, arrival: Duration, packet: P, bytes: usize) {
        self.bytes_under_way += bytes;
        self.under_way.insert((arrival, self.next_number), (packet, bytes));
        self.next_number += 1;
    }

    fn happens(&mut self, share: f32) -> bool {
        share > 0.0 && self.random.unit() < share
    }

    fn up_to(&mut self, duration: Duration) -> Duration {
        if duration.is_zero() { duration } else { duration.mul_f32(self.random.unit()) }
    }
}

/// Delay of a reordered packet even without latency and jitter.
const OVERTAKING_MIN: Duration = Duration::from_millis(50);
/// Maximum number of retransmissions of a packet on a stream, so that a network that loses everything still terminates.
const RESENDS_MAX: u32 = 6;
