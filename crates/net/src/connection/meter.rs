//! Rate limits of a peer's messages; a peer that exceeds them too often is closed.

use super::end::ConnectionEnd;
use crate::metrics::ConnectionMetrics;
use aether_limits::{RateLimit, TokenBucket};
use aether_wire::CloseReason;
use std::time::Duration;

/// Strikes beyond which a peer is closed. A message that is dropped adds a strike.
const STRIKES_MAX: u32 = 256;
/// Strikes that are forgiven each second.
const STRIKES_FORGIVEN: u32 = 32;
/// Strikes for a message that cannot be decoded: a correct peer sends none.
const STRIKES_UNREADABLE: u32 = 32;

/// Strikes beyond which a peer is closed during the handshake. They are not forgiven: such a peer has only a hello to
/// send.
const HANDSHAKE_STRIKES_MAX: u32 = 16;
/// Strikes during the handshake for a message that cannot be decoded.
const HANDSHAKE_STRIKES_UNREADABLE: u32 = 4;

/// The rate that a message counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageClass {
    /// Requests, commands and everything else, including probes of the transport.
    Usual,
    /// Frequent messages, such as inputs.
    Frequent,
    /// Fragments of longer messages.
    Fragments,
    /// Requests that cost much more than others, such as the creation of a match.
    Costly,
}

/// Rates of an open connection, by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageRates {
    /// Rate of [`MessageClass::Usual`].
    pub usual: RateLimit,
    /// Rate of [`MessageClass::Frequent`].
    pub frequent: RateLimit,
    /// Rate of [`MessageClass::Fragments`].
    pub fragments: RateLimit,
    /// Rate of [`MessageClass::Costly`].
    pub costly: RateLimit,
}

impl MessageRates {
    /// Uses the same rate for every class, each with its own bucket.
    #[must_use]
    pub fn all(rate: RateLimit) -> MessageRates {
        MessageRates { usual: rate, frequent: rate, fragments: rate, costly: rate }
    }

    fn buckets(self, now: Duration) -> [TokenBucket; 4] {
        // In the order of `MessageClass`.
        [self.usual, self.frequent, self.fragments, self.costly].map(|rate| TokenBucket::new(rate, now))
    }
}

/// Counts the messages of one peer against its rates, and stores the pending end of the connection.
///
/// The driver calls it for every message. A protocol calls it for messages that are nested in others, and for messages
/// that it drops.
pub struct RateMeter<'a> {
    metrics: &'a ConnectionMetrics,
    now: Duration,
    received_at: Duration,
    /// True if the peer has sent anything in the current second.
    is_active: bool,
    is_open: bool,
    buckets: [TokenBucket; 4],
    strikes: u32,
    end: Option<ConnectionEnd>,
}

impl<'a> RateMeter<'a> {
    /// Creates a meter for the handshake.
    pub(super) fn new(metrics: &'a ConnectionMetrics, rates: MessageRates, now: Duration) -> RateMeter<'a> {
        RateMeter {
            metrics,
            now,
            received_at: now,
            is_active: true,
            is_open: false,
            buckets: rates.buckets(now),
            strikes: 0,
            end: None,
        }
    }

    /// Time of the last received message or of the last passed second.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Counts a message. Returns false if it exceeds the rate and must be dropped.
    pub fn admits(&mut self, class: MessageClass) -> bool {
        let admitted = self.buckets[class as usize].take(self.now);
        if !admitted {
            self.metrics.drops_rate.inc();
            self.strike(1);
        }
        admitted
    }

    /// Adds strikes to the peer. Too many end the connection.
    pub fn strike(&mut self, count: u32) {
        self.strikes = self.strikes.saturating_add(count);
        let (strikes_max, reason) = match self.is_open {
            true => (STRIKES_MAX, CloseReason::Flooded),
            false => (HANDSHAKE_STRIKES_MAX, CloseReason::Unauthenticated),
        };
        if self.strikes > strikes_max {
            self.close(reason);
        }
    }

    /// Adds the strikes of a message, or of a fragment, that cannot be decoded.
    pub fn strike_unreadable(&mut self) {
        self.strike(if self.is_open { STRIKES_UNREADABLE } else { HANDSHAKE_STRIKES_UNREADABLE });
    }

    /// Ends the connection for a reason. Only the first call has an effect.
    pub fn close(&mut self, reason: CloseReason) {
        self.end(ConnectionEnd::closing(reason));
    }

    /// Ends the connection. Only the first call has an effect.
    pub fn end(&mut self, end: ConnectionEnd) {
        self.end.get_or_insert(end);
    }

    /// Returns true if the connection is about to end.
    #[must_use]
    pub fn has_end(&self) -> bool {
        self.end.is_some()
    }

    pub(super) fn take_end(&mut self) -> Option<ConnectionEnd> {
        self.end.take()
    }

    /// Starts the rates after the handshake, and clears its strikes.
    pub(super) fn open(&mut self, rates: MessageRates, now: Duration) {
        *self = RateMeter { is_open: true, end: self.end.take(), ..RateMeter::new(self.metrics, rates, now) };
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Notes that the peer has sent something.
    pub(super) fn note_received(&mut self, now: Duration) {
        self.now = now;
        self.received_at = now;
        self.is_active = true;
    }

    /// Counts a probe of the transport.
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

    /// Forgives strikes after a second. Returns true if the peer has sent anything in it.
    pub(super) fn pass_second(&mut self, now: Duration) -> bool {
        self.now = now;
        self.strikes = self.strikes.saturating_sub(STRIKES_FORGIVEN);
        std::mem::replace(&mut self.is_active, false)
    }

    /// Time since the peer last sent something.
    pub(super) fn silence(&self, now: Duration) -> Duration {
        now.saturating_sub(self.received_at)
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
    fn each_class_has_its_own_bucket() {
        let metrics = ConnectionMetrics::new(&Registry::new());
        let mut meter = RateMeter::new(&metrics, MessageRates::all(RATE), Duration::ZERO);
        meter.open(MessageRates::all(RATE), Duration::ZERO);
        let classes = [MessageClass::Usual, MessageClass::Frequent, MessageClass::Fragments, MessageClass::Costly];
        for class in classes {
            assert_eq!([(); 3].map(|()| meter.admits(class)), [true, true, false], "{class:?}");
        }
        assert_eq!(meter.strikes, 4);
    }

    #[test]
    fn strikes_are_forgiven_after_the_handshake() {
        let metrics = ConnectionMetrics::new(&Registry::new());
        let mut meter = RateMeter::new(&metrics, MessageRates::all(RATE), Duration::ZERO);
        meter.strike(HANDSHAKE_STRIKES_MAX);
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
    fn few_strikes_are_allowed_during_the_handshake() {
        let metrics = ConnectionMetrics::new(&Registry::new());
        let mut meter = RateMeter::new(&metrics, MessageRates::all(RATE), Duration::ZERO);
        (0..HANDSHAKE_STRIKES_MAX / HANDSHAKE_STRIKES_UNREADABLE).for_each(|_| meter.strike_unreadable());
        assert_eq!(reason(&mut meter), None);
        meter.count_probe();
        assert_eq!(reason(&mut meter), Some("unauthenticated"));
    }

    #[test]
    fn the_first_end_counts() {
        let metrics = ConnectionMetrics::new(&Registry::new());
        let mut meter = RateMeter::new(&metrics, MessageRates::all(RATE), Duration::ZERO);
        meter.close(CloseReason::Left);
        meter.close(CloseReason::Flooded);
        assert_eq!(reason(&mut meter), Some("left"));
    }
}
