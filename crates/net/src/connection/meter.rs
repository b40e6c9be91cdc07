//! Measures what a peer sends, and ends the connection of one that sends too much.

use super::end::ConnectionEnd;
use crate::counters::ConnectionMetrics;
use aether_limits::{RateLimit, TokenBucket};
use aether_wire::CloseReason;
use std::time::Duration;

/// A peer whose messages are dropped this often, less a few each second, is closed.
const STRIKES_MAX: u32 = 256;
/// Strikes that are forgiven each second.
const STRIKES_FORGIVEN: u32 = 32;
/// Strikes for a message that cannot be read: an honest peer sends none.
const STRIKES_UNREADABLE: u32 = 32;

/// Strikes of a peer that is not in yet. They are not forgiven: such a peer has one thing to say.
const OPENING_STRIKES_MAX: u32 = 16;
/// Strikes of such a peer for a message that cannot be read.
const OPENING_STRIKES_UNREADABLE: u32 = 4;

/// The rate that a message counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageClass {
    /// Requests, commands and everything else. Signs of life of the transport count with them.
    Usual,
    /// Messages that come all the time, such as inputs.
    Frequent,
    /// Parts of longer messages.
    Parts,
}

/// Rates of an open connection, by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageRates {
    /// For [`MessageClass::Usual`].
    pub usual: RateLimit,
    /// For [`MessageClass::Frequent`].
    pub frequent: RateLimit,
    /// For [`MessageClass::Parts`].
    pub parts: RateLimit,
}

impl MessageRates {
    /// The same rate for every class, each with a bucket of its own.
    #[must_use]
    pub fn all(rate: RateLimit) -> MessageRates {
        MessageRates { usual: rate, frequent: rate, parts: rate }
    }

    fn buckets(self, now: Duration) -> [TokenBucket; 3] {
        // In the order of `MessageClass`.
        [self.usual, self.frequent, self.parts].map(|rate| TokenBucket::new(rate, now))
    }
}

/// Counts what one peer sends against its rates, and keeps the reason for which the connection is to end.
///
/// The driver asks it for every message. A protocol asks it for messages that it finds inside of others, and tells it of
/// messages that it cannot use.
pub struct RateMeter<'a> {
    counters: &'a ConnectionMetrics,
    now: Duration,
    heard_at: Duration,
    /// True if anything came since the last second.
    was_heard: bool,
    is_open: bool,
    buckets: [TokenBucket; 3],
    strikes: u32,
    end: Option<ConnectionEnd>,
}

impl<'a> RateMeter<'a> {
    /// A meter for a peer that is not in yet.
    pub(super) fn new(counters: &'a ConnectionMetrics, rates: MessageRates, now: Duration) -> RateMeter<'a> {
        RateMeter {
            counters,
            now,
            heard_at: now,
            was_heard: true,
            is_open: false,
            buckets: rates.buckets(now),
            strikes: 0,
            end: None,
        }
    }

    /// The time, as of when the driver last read something or a second passed.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Counts a message; false if it is one too many, and then it is not to be handled.
    pub fn admits(&mut self, class: MessageClass) -> bool {
        let admitted = self.buckets[class as usize].take(self.now);
        if !admitted {
            self.counters.drops_rate.inc();
            self.strike(1);
        }
        admitted
    }

    /// Counts against the peer a message that is dropped. Too many end the connection.
    pub fn strike(&mut self, count: u32) {
        self.strikes = self.strikes.saturating_add(count);
        let (strikes_max, reason) = match self.is_open {
            true => (STRIKES_MAX, CloseReason::Flooded),
            false => (OPENING_STRIKES_MAX, CloseReason::Unauthenticated),
        };
        if self.strikes > strikes_max {
            self.close(reason);
        }
    }

    /// Counts a message, or a part of one, that cannot be read.
    pub fn strike_unreadable(&mut self) {
        self.strike(if self.is_open { STRIKES_UNREADABLE } else { OPENING_STRIKES_UNREADABLE });
    }

    /// Has the connection end for a reason. The first one counts.
    pub fn close(&mut self, reason: CloseReason) {
        self.end(ConnectionEnd::told(reason));
    }

    /// Has the connection end. The first end counts.
    pub fn end(&mut self, end: ConnectionEnd) {
        self.end.get_or_insert(end);
    }

    /// Returns true if the connection is to end.
    #[must_use]
    pub fn has_end(&self) -> bool {
        self.end.is_some()
    }

    pub(super) fn take_end(&mut self) -> Option<ConnectionEnd> {
        self.end.take()
    }

    /// Opens the connection: from now on its rates count, and what it did before does not.
    pub(super) fn open(&mut self, rates: MessageRates, now: Duration) {
        *self = RateMeter { is_open: true, end: self.end.take(), ..RateMeter::new(self.counters, rates, now) };
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Notes that something came.
    pub(super) fn note_received(&mut self, now: Duration) {
        self.now = now;
        self.heard_at = now;
        self.was_heard = true;
    }

    /// Counts a sign of life of the transport.
    pub(super) fn count_probe(&mut self) {
        match self.is_open {
            true => {
                if !self.buckets[MessageClass::Usual as usize].take(self.now) {
                    self.strike(1);
                }
            }
            false => self.strike(1),
        }
    }

    /// Forgives strikes, each second. Returns true if anything came in it.
    pub(super) fn pass_second(&mut self, now: Duration) -> bool {
        self.now = now;
        self.strikes = self.strikes.saturating_sub(STRIKES_FORGIVEN);
        std::mem::replace(&mut self.was_heard, false)
    }

    /// Time since something came.
    pub(super) fn silence(&self, now: Duration) -> Duration {
        now.saturating_sub(self.heard_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aether_metrics::Registry;

    const RATE: RateLimit = RateLimit { per_second: 10, burst: 2 };

    fn reason(meter: &mut RateMeter<'_>) -> Option<&'static str> {
        meter.take_end().map(|end| end.label())
    }

    #[test]
    fn each_class_has_a_bucket_of_its_own() {
        let counters = ConnectionMetrics::new(&Registry::new());
        let mut meter = RateMeter::new(&counters, MessageRates::all(RATE), Duration::ZERO);
        meter.open(MessageRates::all(RATE), Duration::ZERO);
        for class in [MessageClass::Usual, MessageClass::Frequent, MessageClass::Parts] {
            assert_eq!([(); 3].map(|()| meter.admits(class)), [true, true, false], "{class:?}");
        }
        assert_eq!(meter.strikes, 3);
    }

    #[test]
    fn strikes_are_forgiven_once_the_peer_is_in() {
        let counters = ConnectionMetrics::new(&Registry::new());
        let mut meter = RateMeter::new(&counters, MessageRates::all(RATE), Duration::ZERO);
        meter.strike(OPENING_STRIKES_MAX);
        assert_eq!(reason(&mut meter), None);
        meter.open(MessageRates::all(RATE), Duration::ZERO);
        meter.strike(STRIKES_MAX);
        meter.pass_second(Duration::from_secs(1));
        meter.strike(STRIKES_FORGIVEN);
        assert_eq!(reason(&mut meter), None);
        meter.strike(1);
        assert_eq!(reason(&mut meter), Some("flooded"));
    }

    #[test]
    fn a_peer_that_is_not_in_yet_has_few_strikes() {
        let counters = ConnectionMetrics::new(&Registry::new());
        let mut meter = RateMeter::new(&counters, MessageRates::all(RATE), Duration::ZERO);
        (0..OPENING_STRIKES_MAX / OPENING_STRIKES_UNREADABLE).for_each(|_| meter.strike_unreadable());
        assert_eq!(reason(&mut meter), None);
        meter.count_probe();
        assert_eq!(reason(&mut meter), Some("unauthenticated"));
    }

    #[test]
    fn the_first_end_counts() {
        let counters = ConnectionMetrics::new(&Registry::new());
        let mut meter = RateMeter::new(&counters, MessageRates::all(RATE), Duration::ZERO);
        meter.close(CloseReason::Left);
        meter.close(CloseReason::Flooded);
        assert_eq!(reason(&mut meter), Some("left"));
    }
}
