//! Measurement of the round trip time.

use aether_wire::limits::CLIENT_TIME_US_MAX;
use aether_wire::{ClientTime, Pong};
use std::time::Duration;

/// Largest number of unanswered pings. Older ones are ignored.
const PINGS_PENDING_MAX: usize = 8;
/// The first pings have a shorter interval, so that the clock is soon accurate.
const FIRST_PINGS: u32 = 6;
const FIRST_INTERVAL: Duration = Duration::from_millis(100);
const INTERVAL: Duration = Duration::from_millis(500);
/// Upper limit of a measurement. It bounds how far a server can make the client run ahead.
const ROUND_TRIP_MAX: Duration = Duration::from_secs(3);
/// Weights of a new sample in the mean and in the deviation, as in TCP.
const MEAN_GAIN: f64 = 1.0 / 8.0;
const DEVIATION_GAIN: f64 = 1.0 / 4.0;

/// Sends pings and measures the round trip by their pongs.
#[derive(Clone, Debug, Default)]
pub struct RoundTrip {
    pending: [Option<Duration>; PINGS_PENDING_MAX],
    pings: u32,
    last_ping_at: Option<Duration>,
    estimate: Option<Estimate>,
}

#[derive(Clone, Copy, Debug)]
struct Estimate {
    mean_seconds: f64,
    deviation_seconds: f64,
}

impl RoundTrip {
    /// Returns the time to send in a ping, if one is due.
    pub fn poll_ping(&mut self, now: Duration) -> Option<ClientTime> {
        let interval = if self.pings < FIRST_PINGS { FIRST_INTERVAL } else { INTERVAL };
        if self.last_ping_at.is_some_and(|at| now < at.saturating_add(interval)) {
            return None;
        }
        self.last_ping_at = Some(now);
        self.pending[self.pings as usize % PINGS_PENDING_MAX] = Some(now);
        self.pings = self.pings.wrapping_add(1);
        Some(stamp(now))
    }

    /// Handles a pong. Returns false if it answers no pending ping; it is then ignored.
    pub fn handle_pong(&mut self, pong: &Pong, now: Duration) -> bool {
        let answered = self.pending.iter_mut().find(|sent| sent.is_some_and(|sent| stamp(sent) == pong.client_time));
        let Some(sent) = answered.and_then(Option::take) else { return false };
        let hold = Duration::from_micros(pong.hold_us.into());
        let seconds = now.saturating_sub(sent).saturating_sub(hold).min(ROUND_TRIP_MAX).as_secs_f64();
        let estimate = self.estimate.get_or_insert(Estimate { mean_seconds: seconds, deviation_seconds: 0.0 });
        estimate.deviation_seconds +=
            ((seconds - estimate.mean_seconds).abs() - estimate.deviation_seconds) * DEVIATION_GAIN;
        estimate.mean_seconds += (seconds - estimate.mean_seconds) * MEAN_GAIN;
        true
    }

    /// Mean of the recent round trips. `None` before the first.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        self.estimate.map(|estimate| Duration::from_secs_f64(estimate.mean_seconds))
    }

    /// Deviation of the recent round trips.
    #[must_use]
    pub fn deviation(&self) -> Duration {
        self.estimate.map_or(Duration::ZERO, |estimate| Duration::from_secs_f64(estimate.deviation_seconds))
    }
}

/// Converts a time to the form in messages.
pub(crate) fn stamp(time: Duration) -> ClientTime {
    ClientTime(time.as_micros() as u64 % CLIENT_TIME_US_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn pong(client_time: ClientTime, hold_us: u32) -> Pong {
        Pong { client_time, hold_us, ..Pong::default() }
    }

    #[test]
    fn the_round_trip_excludes_the_hold_time_of_the_server() {
        let mut trip = RoundTrip::default();
        for ping in 0..40 {
            let now = at(ping * 500);
            let time = trip.poll_ping(now).expect("a ping is due every half second");
            assert!(trip.poll_ping(now + at(1)).is_none());
            assert!(trip.handle_pong(&pong(time, 5_000), now + at(85)));
        }
        assert_eq!(trip.mean(), Some(at(80)));
        assert!(trip.deviation() < at(1));
    }

    #[test]
    fn a_pong_without_a_ping_is_ignored() {
        let mut trip = RoundTrip::default();
        let time = trip.poll_ping(at(1_000)).expect("the first ping is due at once");
        for forged in [ClientTime(0), ClientTime(u64::MAX), ClientTime(time.0 + 1)] {
            assert!(!trip.handle_pong(&pong(forged, 0), at(1_100)));
        }
        assert!(trip.handle_pong(&pong(time, u32::MAX), at(1_100)));
        assert_eq!(trip.mean(), Some(Duration::ZERO), "the hold time cannot exceed the round trip");
        assert!(!trip.handle_pong(&pong(time, 0), at(9_000)), "a pong counts once");
    }
}
