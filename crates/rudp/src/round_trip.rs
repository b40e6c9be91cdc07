//! Estimate of the round-trip time (RFC 6298, with the minimum besides).

use std::time::Duration;

use crate::limits::ACK_DELAY_MAX;

/// Round-trip time before the first sample.
const INITIAL: Duration = Duration::from_millis(100);

/// Resolution of timers, below which waiting is pointless.
const GRANULARITY: Duration = Duration::from_millis(1);

/// Estimate of the round-trip time.
#[derive(Default)]
pub(crate) struct RoundTrip {
    estimate: Option<Estimate>,
}

#[derive(Clone, Copy)]
struct Estimate {
    latest: Duration,
    smoothed: Duration,
    variance: Duration,
    min: Duration,
}

impl RoundTrip {
    /// Adds a sample and the part of it for which the peer held its answer back. Returns the time without that part.
    pub(crate) fn update(&mut self, sample: Duration, held: Duration) -> Duration {
        let Some(estimate) = &mut self.estimate else {
            self.estimate = Some(Estimate { latest: sample, smoothed: sample, variance: sample / 2, min: sample });
            return sample;
        };
        estimate.min = estimate.min.min(sample);
        // The peer states the delay: it must not make the path look faster than it ever was.
        let latest = sample.saturating_sub(held).max(estimate.min);
        estimate.latest = latest;
        estimate.variance = (estimate.variance * 3 + latest.abs_diff(estimate.smoothed)) / 4;
        estimate.smoothed = (estimate.smoothed * 7 + latest) / 8;
        latest
    }

    /// Smoothed time, `None` before the first sample.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.estimate.map(|estimate| estimate.smoothed)
    }

    pub(crate) fn variance(&self) -> Duration {
        self.estimate.map_or(Duration::ZERO, |estimate| estimate.variance)
    }

    pub(crate) fn min(&self) -> Duration {
        self.estimate.map_or(Duration::ZERO, |estimate| estimate.min)
    }

    /// Age at which a packet is lost, if a later one has arrived.
    pub(crate) fn loss_delay(&self) -> Duration {
        let longest = self.estimate.map_or(INITIAL, |estimate| estimate.smoothed.max(estimate.latest));
        (longest * 9 / 8).max(GRANULARITY)
    }

    /// Silence after which the sender probes.
    pub(crate) fn probe_delay(&self) -> Duration {
        let (smoothed, variance) =
            self.estimate.map_or((INITIAL, INITIAL / 2), |estimate| (estimate.smoothed, estimate.variance));
        smoothed + (variance * 4).max(GRANULARITY) + ACK_DELAY_MAX
    }
}
