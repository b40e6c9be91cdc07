//! How long the way to the server and back takes.

use aether_wire::limits::CLIENT_TIME_US_MAX;
use aether_wire::{ClientTime, Pong};
use std::time::Duration;

/// Pings whose answers are waited for. An older one is given up.
const PINGS_WAITING_MAX: usize = 8;
/// The first pings follow each other faster, so that the clock is soon right.
const FIRST_PINGS: u32 = 6;
const FIRST_INTERVAL: Duration = Duration::from_millis(100);
const INTERVAL: Duration = Duration::from_millis(500);
/// A round trip counts for no more than this: whatever the server says, the client does not run ahead without end.
const ROUND_TRIP_MAX: Duration = Duration::from_secs(3);
/// The weights of a new round trip, as TCP has them: in the mean, and in how much it varies.
const MEAN_GAIN: f64 = 1.0 / 8.0;
const DEVIATION_GAIN: f64 = 1.0 / 4.0;

/// Asks for pongs and measures them.
#[derive(Clone, Debug, Default)]
pub struct RoundTrip {
    waiting: [Option<Duration>; PINGS_WAITING_MAX],
    pings: u32,
    asked_at: Option<Duration>,
    measured: Option<Measured>,
}

#[derive(Clone, Copy, Debug)]
struct Measured {
    mean_seconds: f64,
    deviation_seconds: f64,
}

impl RoundTrip {
    /// The time to put into a ping, if one is due.
    pub fn ping(&mut self, now: Duration) -> Option<ClientTime> {
        let interval = if self.pings < FIRST_PINGS { FIRST_INTERVAL } else { INTERVAL };
        if self.asked_at.is_some_and(|at| now < at.saturating_add(interval)) {
            return None;
        }
        self.asked_at = Some(now);
        self.waiting[self.pings as usize % PINGS_WAITING_MAX] = Some(now);
        self.pings = self.pings.wrapping_add(1);
        Some(stamp(now))
    }

    /// A pong came. False if it answers no ping that is waited for; then it tells nothing.
    pub fn pong(&mut self, pong: &Pong, now: Duration) -> bool {
        let answered = self.waiting.iter_mut().find(|sent| sent.is_some_and(|sent| stamp(sent) == pong.client_time));
        let Some(sent) = answered.and_then(Option::take) else { return false };
        let hold = Duration::from_micros(pong.hold_us.into());
        let seconds = now.saturating_sub(sent).saturating_sub(hold).min(ROUND_TRIP_MAX).as_secs_f64();
        let measured = self.measured.get_or_insert(Measured { mean_seconds: seconds, deviation_seconds: 0.0 });
        measured.deviation_seconds +=
            ((seconds - measured.mean_seconds).abs() - measured.deviation_seconds) * DEVIATION_GAIN;
        measured.mean_seconds += (seconds - measured.mean_seconds) * MEAN_GAIN;
        true
    }

    /// The mean of the last round trips; nothing before the first.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        self.measured.map(|measured| Duration::from_secs_f64(measured.mean_seconds))
    }

    /// How much they vary.
    #[must_use]
    pub fn deviation(&self) -> Duration {
        self.measured.map_or(Duration::ZERO, |measured| Duration::from_secs_f64(measured.deviation_seconds))
    }
}

/// The time as pings carry it.
fn stamp(time: Duration) -> ClientTime {
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
    fn pongs_tell_the_round_trip_without_what_the_server_held_them() {
        let mut trip = RoundTrip::default();
        for ping in 0..40 {
            let now = at(ping * 500);
            let time = trip.ping(now).expect("a ping is due every half second");
            assert!(trip.ping(now + at(1)).is_none());
            assert!(trip.pong(&pong(time, 5_000), now + at(85)));
        }
        assert_eq!(trip.mean(), Some(at(80)));
        assert!(trip.deviation() < at(1));
    }

    #[test]
    fn a_pong_that_nobody_asked_for_tells_nothing() {
        let mut trip = RoundTrip::default();
        let time = trip.ping(at(1_000)).expect("the first is due at once");
        for forged in [ClientTime(0), ClientTime(u64::MAX), ClientTime(time.0 + 1)] {
            assert!(!trip.pong(&pong(forged, 0), at(1_100)));
        }
        assert!(trip.pong(&pong(time, u32::MAX), at(1_100)));
        assert_eq!(trip.mean(), Some(Duration::ZERO), "it cannot have been held for longer than it took");
        assert!(!trip.pong(&pong(time, 0), at(9_000)), "a pong counts once");
    }
}
