//! Metrics of bots.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

/// Largest number of distinct reasons, because a server can send arbitrary ones.
const REASONS_MAX: usize = 64;

/// Largest recorded time: a minute. Longer times count as a minute.
const TIME_US_MAX: u64 = 60_000_000;

/// Significant digits of a histogram: values are accurate to 1 %.
const DIGITS: u8 = 2;

/// Metrics of some bots.
#[derive(Clone, Debug, Default)]
pub(crate) struct BotMetrics {
    pub(crate) connected: u64,
    pub(crate) failures: ReasonCounts,
    pub(crate) disconnects: ReasonCounts,
    pub(crate) errors: ReasonCounts,
    pub(crate) resumes: u64,
    pub(crate) resumes_refused: u64,
    pub(crate) resumes_as_another: u64,
    pub(crate) messages_in: u64,
    pub(crate) bytes_in: u64,
    pub(crate) messages_out: u64,
    pub(crate) bytes_out: u64,
    pub(crate) state_packets: u64,
    pub(crate) state_unreadable: u64,
    pub(crate) corrections: u64,
    pub(crate) deliveries_expected: u64,
    pub(crate) deliveries: u64,
    pub(crate) connecting: TimeDistribution,
    pub(crate) round_trip: TimeDistribution,
    pub(crate) ping_hold: TimeDistribution,
    pub(crate) staleness: TimeDistribution,
    pub(crate) state_jitter: TimeDistribution,
    pub(crate) input_to_state: TimeDistribution,
    pub(crate) delivery: TimeDistribution,
}

impl BotMetrics {
    /// Adds the metrics of other bots.
    pub(crate) fn add(&mut self, other: &Self) {
        self.connected += other.connected;
        self.failures.add(&other.failures);
        self.disconnects.add(&other.disconnects);
        self.errors.add(&other.errors);
        self.resumes += other.resumes;
        self.resumes_refused += other.resumes_refused;
        self.resumes_as_another += other.resumes_as_another;
        self.messages_in += other.messages_in;
        self.bytes_in += other.bytes_in;
        self.messages_out += other.messages_out;
        self.bytes_out += other.bytes_out;
        self.state_packets += other.state_packets;
        self.state_unreadable += other.state_unreadable;
        self.corrections += other.corrections;
        self.deliveries_expected += other.deliveries_expected;
        self.deliveries += other.deliveries;
        self.connecting.0 += &other.connecting.0;
        self.round_trip.0 += &other.round_trip.0;
        self.ping_hold.0 += &other.ping_hold.0;
        self.staleness.0 += &other.staleness.0;
        self.state_jitter.0 += &other.state_jitter.0;
        self.input_to_state.0 += &other.input_to_state.0;
        self.delivery.0 += &other.delivery.0;
    }
}

/// Number of occurrences by reason.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReasonCounts(pub(crate) BTreeMap<String, u64>);

impl ReasonCounts {
    pub(crate) fn count(&mut self, reason: &str) {
        self.count_many(reason, 1);
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    fn add(&mut self, other: &Self) {
        other.0.iter().for_each(|(reason, count)| self.count_many(reason, *count));
    }

    fn count_many(&mut self, reason: &str, count: u64) {
        let known = self.0.contains_key(reason) || self.0.len() < REASONS_MAX;
        *self.0.entry(if known { reason } else { "other" }.to_owned()).or_default() += count;
    }
}

/// Distribution of times.
#[derive(Clone, Debug)]
pub(crate) struct TimeDistribution(Histogram<u64>);

impl Default for TimeDistribution {
    fn default() -> Self {
        Self(Histogram::new_with_max(TIME_US_MAX, DIGITS).expect("valid constants"))
    }
}

impl TimeDistribution {
    pub(crate) fn record(&mut self, time: Duration) {
        self.0.saturating_record(u64::try_from(time.as_micros()).unwrap_or(TIME_US_MAX));
    }

    pub(crate) fn len(&self) -> u64 {
        self.0.len()
    }

    /// Quantile in milliseconds.
    pub(crate) fn quantile_ms(&self, quantile: f64) -> f64 {
        self.0.value_at_quantile(quantile) as f64 / 1_000.0
    }

    pub(crate) fn max_ms(&self) -> f64 {
        self.0.max() as f64 / 1_000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_add_up() {
        let mut one = BotMetrics { connected: 1, deliveries: 5, ..BotMetrics::default() };
        one.failures.count("refused");
        one.round_trip.record(Duration::from_millis(10));
        let mut sum = one.clone();
        one.failures.count("timed out");
        sum.add(&one);
        assert_eq!((sum.connected, sum.deliveries, sum.failures.total()), (2, 10, 3));
        assert_eq!(sum.round_trip.len(), 2);
        assert!((sum.round_trip.quantile_ms(0.5) - 10.0).abs() < 0.2);
    }

    #[test]
    fn distinct_reasons_are_bounded() {
        let mut reasons = ReasonCounts::default();
        for number in 0..1_000 {
            reasons.count(&number.to_string());
        }
        assert_eq!(reasons.0.len(), REASONS_MAX + 1);
        assert_eq!(reasons.total(), 1_000);
    }

    #[test]
    fn a_time_beyond_a_minute_counts_as_a_minute() {
        let mut times = TimeDistribution::default();
        times.record(Duration::MAX);
        assert!((times.max_ms() - 60_000.0).abs() < 600.0);
    }
}
