//! Tick of the client, ahead of the server's so that inputs arrive in time.

use crate::{RoundTrip, Slew, SlewBounds, SnapshotArrivals};
use aether_wire::Tick;
use std::time::Duration;

/// Limits of the client's tick: the duration of an input varies by a few percent at most.
const BOUNDS: SlewBounds = SlewBounds { rate_change_max: 0.03, settle_seconds: 1.0, jump_seconds: 0.5 };
/// Largest number of ticks in one frame, after a long frame. Further ticks are skipped: the server would not accept
/// that many inputs at once.
const TICKS_AT_ONCE_MAX: u32 = 8;
/// Multiple of the jitter by which the client's tick is ahead, besides the latency.
const JITTER_MARGIN: f64 = 2.0;
/// Longest wait for a round trip and a snapshot before the first tick. With both, the clock starts at the right tick; a
/// later correction would create inputs that the server does not accept.
const START_WAIT_MAX: Duration = Duration::from_secs(1);

/// Clock of the client's tick.
#[derive(Clone, Debug)]
pub struct TickClock {
    ticks_per_second: f64,
    slew: Slew,
    started_at: Duration,
    start_tick: f64,
    has_started: bool,
    last: f64,
}

impl TickClock {
    /// Creates a clock for a room that was at `server_tick` at the welcome.
    #[must_use]
    pub fn new(tick_hz: u32, server_tick: Tick, now: Duration) -> Self {
        let ticks_per_second = f64::from(tick_hz.max(1));
        let start_tick = f64::from(server_tick.0);
        let slew = Slew::new(ticks_per_second, BOUNDS);
        TickClock { ticks_per_second, slew, started_at: now, start_tick, has_started: false, last: start_tick }
    }

    /// Sets the rate of ticks, when the room slows its time or returns to normal.
    pub fn set_ticks_per_second(&mut self, ticks_per_second: f64) {
        self.ticks_per_second = ticks_per_second;
        self.slew.set_ticks_per_second(ticks_per_second);
    }

    /// Advances to `now` and returns the number of ticks that are due.
    pub fn advance(&mut self, now: Duration, arrivals: &SnapshotArrivals, round_trip: &RoundTrip) -> u32 {
        let since_start = now.saturating_sub(self.started_at);
        let is_known = arrivals.newest().is_some() && round_trip.mean().is_some();
        if !self.has_started && !is_known && since_start < START_WAIT_MAX {
            return 0;
        }
        self.has_started = true;
        let ticks = since_start.as_secs_f64() * self.ticks_per_second;
        let arriving = arrivals.tick_at(now).unwrap_or(self.start_tick + ticks);
        let has_jumped = self.slew.advance(now, arriving + self.target_lead(arrivals, round_trip));
        let tick = self.slew.position().floor();
        let due = (tick - self.last) as u32;
        self.last = tick;
        // The ticks skipped by a jump are not played.
        if has_jumped { due.min(1) } else { due.min(TICKS_AT_ONCE_MAX) }
    }

    /// Current tick.
    #[must_use]
    pub fn tick(&self) -> Tick {
        Tick(self.last.max(0.0) as u32)
    }

    /// Progress towards the next tick, from 0 to 1.
    #[must_use]
    pub fn fraction(&self) -> f32 {
        (self.slew.position() - self.last).clamp(0.0, 1.0) as f32
    }

    /// Ticks to be ahead of the arriving state: state is half a round trip old, and inputs take the other half.
    fn target_lead(&self, arrivals: &SnapshotArrivals, round_trip: &RoundTrip) -> f64 {
        let Some(mean) = round_trip.mean() else { return 0.0 };
        let jitter = arrivals.jitter().max(round_trip.deviation()).as_secs_f64();
        (mean.as_secs_f64() + JITTER_MARGIN * jitter) * self.ticks_per_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aether_wire::Pong;

    /// Runs a clock against a server whose tick 1000 was at time zero. Returns the number of ticks that were due, and
    /// the largest number in one frame after the first second.
    fn run(clock: &mut TickClock, round_trip_ms: u32, seconds: u32) -> (u32, u32) {
        let mut arrivals = SnapshotArrivals::new(40, 20);
        let mut trip = RoundTrip::default();
        let half = Duration::from_millis(u64::from(round_trip_ms) / 2);
        let (mut due, mut most) = (0, 0);
        let mut pending = None;
        for ms in 0..seconds * 1000 {
            let now = Duration::from_millis(ms.into());
            let sent = now.saturating_sub(half);
            if sent.as_millis().is_multiple_of(50) && now >= half {
                arrivals.record(Tick(1000 + (sent.as_millis() / 25) as u32), now);
            }
            if let Some(time) = trip.poll_ping(now) {
                pending = pending.or(Some((time, now + 2 * half)));
            }
            if let Some((client_time, _)) = pending.take_if(|(_, at)| *at <= now) {
                trip.handle_pong(&Pong { client_time, ..Pong::default() }, now);
            }
            if ms % 16 == 0 {
                let ticks = clock.advance(now, &arrivals, &trip);
                due += ticks;
                most = if ms > 1000 { most.max(ticks) } else { most };
            }
        }
        (due, most)
    }

    #[test]
    fn it_runs_ahead_of_the_server_by_half_a_round_trip_and_a_little() {
        for round_trip_ms in [0, 50, 100, 200, 400] {
            let mut clock = TickClock::new(40, Tick(1000), Duration::ZERO);
            run(&mut clock, round_trip_ms, 10);
            // Tick 1400 is at ten seconds; at 400 ms an input takes 8 ticks to arrive.
            let ahead = f64::from(clock.tick().0) - 1400.0;
            let latency_ticks = f64::from(round_trip_ms) / 2.0 / 25.0;
            let expected = latency_ticks - 1.5..=latency_ticks + 3.0;
            assert!(expected.contains(&ahead), "{round_trip_ms} ms: {ahead} ticks ahead, expected {expected:?}");
        }
    }

    #[test]
    fn ticks_run_at_the_rate_of_the_room() {
        let mut clock = TickClock::new(40, Tick(1000), Duration::ZERO);
        let (due, most) = run(&mut clock, 100, 20);
        assert!((790..=812).contains(&due), "{due} ticks in 20 seconds");
        assert!(most <= 2, "{most} ticks in one frame");
    }

    #[test]
    fn ticks_of_a_long_pause_are_skipped() {
        let mut clock = TickClock::new(40, Tick(0), Duration::ZERO);
        let (arrivals, trip) = (SnapshotArrivals::new(40, 20), RoundTrip::default());
        clock.advance(Duration::ZERO, &arrivals, &trip);
        assert!(clock.advance(Duration::from_secs(3_600), &arrivals, &trip) <= TICKS_AT_ONCE_MAX);
        let after = Duration::from_secs(3_600) + Duration::from_millis(25);
        assert!(clock.advance(after, &arrivals, &trip) <= 1);
    }
}
