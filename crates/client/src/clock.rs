//! The client's tick: ahead of the server's, so that inputs arrive in time.

use crate::{RoundTrip, Slew, SlewBounds, SnapshotArrivals};
use aether_wire::Tick;
use std::time::Duration;

/// How the client's tick follows: an input lasts as long as any other to within a few hundredths.
const BOUNDS: SlewBounds = SlewBounds { rate_change_max: 0.03, settle_seconds: 1.0, jump_seconds: 0.5 };
/// Ticks made up for at once, after a frame that took long. Those beyond are left out: the server would not take that many
/// inputs at once either.
const TICKS_AT_ONCE_MAX: u32 = 8;
/// How much of the jitter the client's tick is ahead by, besides the time that the way takes.
const JITTER_MARGIN: f64 = 2.0;
/// How long a round trip and a snapshot are waited for before the first tick, so that the clock begins where it should be.
/// To make up for it later would make inputs that the server does not wait for.
const BEGIN_WAIT: Duration = Duration::from_secs(1);

/// Clock of the client's tick: says how many ticks are due.
#[derive(Clone, Debug)]
pub struct TickClock {
    ticks_per_second: f64,
    slew: Slew,
    begun_at: Duration,
    begun_tick: f64,
    has_begun: bool,
    last: f64,
}

impl TickClock {
    /// A clock for a room that was at this tick when it let the client in.
    #[must_use]
    pub fn new(tick_hz: u32, server_tick: Tick, now: Duration) -> Self {
        let ticks_per_second = f64::from(tick_hz.max(1));
        let begun_tick = f64::from(server_tick.0);
        let slew = Slew::new(ticks_per_second, BOUNDS);
        TickClock { ticks_per_second, slew, begun_at: now, begun_tick, has_begun: false, last: begun_tick }
    }

    /// Goes on to now, and tells how many ticks are due.
    pub fn advance(&mut self, now: Duration, arrivals: &SnapshotArrivals, round_trip: &RoundTrip) -> u32 {
        let since_begun = now.saturating_sub(self.begun_at);
        let is_known = arrivals.newest().is_some() && round_trip.mean().is_some();
        if !self.has_begun && !is_known && since_begun < BEGIN_WAIT {
            return 0;
        }
        self.has_begun = true;
        let ticks = since_begun.as_secs_f64() * self.ticks_per_second;
        let arriving = arrivals.tick_at(now).unwrap_or(self.begun_tick + ticks);
        let jumped = self.slew.advance(now, arriving + self.lead_wanted(arrivals, round_trip));
        let tick = self.slew.position().floor();
        let due = (tick - self.last) as u32;
        self.last = tick;
        // After a jump the ticks between were never there.
        if jumped { due.min(1) } else { due.min(TICKS_AT_ONCE_MAX) }
    }

    /// The client's tick.
    #[must_use]
    pub fn tick(&self) -> Tick {
        Tick(self.last.max(0.0) as u32)
    }

    /// How far the next tick has come, from 0 to 1.
    #[must_use]
    pub fn fraction(&self) -> f32 {
        (self.slew.position() - self.last).clamp(0.0, 1.0) as f32
    }

    /// How many ticks to be ahead of what arrives: what arrives is half a round trip old, and what is sent takes the other
    /// half.
    fn lead_wanted(&self, arrivals: &SnapshotArrivals, round_trip: &RoundTrip) -> f64 {
        let Some(mean) = round_trip.mean() else { return 0.0 };
        let jitter = arrivals.jitter().max(round_trip.deviation()).as_secs_f64();
        (mean.as_secs_f64() + JITTER_MARGIN * jitter) * self.ticks_per_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aether_wire::Pong;

    /// Runs a clock against a server whose tick 1000 was at time zero, with this round trip; tells how many ticks were
    /// due, and the largest number in one frame after the first second.
    fn run(clock: &mut TickClock, round_trip_ms: u32, seconds: u32) -> (u32, u32) {
        let mut arrivals = SnapshotArrivals::new(40, 20);
        let mut trip = RoundTrip::default();
        let half = Duration::from_millis(u64::from(round_trip_ms) / 2);
        let (mut due, mut most) = (0, 0);
        let mut waiting = None;
        for ms in 0..seconds * 1000 {
            let now = Duration::from_millis(ms.into());
            let sent = now.saturating_sub(half);
            if sent.as_millis().is_multiple_of(50) && now >= half {
                arrivals.record(Tick(1000 + (sent.as_millis() / 25) as u32), now);
            }
            if let Some(time) = trip.ping(now) {
                waiting = waiting.or(Some((time, now + 2 * half)));
            }
            if let Some((client_time, _)) = waiting.take_if(|(_, at)| *at <= now) {
                trip.pong(&Pong { client_time, ..Pong::default() }, now);
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
            let way = f64::from(round_trip_ms) / 2.0 / 25.0;
            assert!((way - 1.5..=way + 3.0).contains(&ahead), "{round_trip_ms} ms: {ahead} ticks ahead, way {way}");
        }
    }

    #[test]
    fn ticks_come_at_the_rooms_rate() {
        let mut clock = TickClock::new(40, Tick(1000), Duration::ZERO);
        let (due, most) = run(&mut clock, 100, 20);
        assert!((790..=812).contains(&due), "{due} ticks in 20 seconds");
        assert!(most <= 2, "{most} ticks in one frame");
    }

    #[test]
    fn a_long_pause_is_not_made_up_for() {
        let mut clock = TickClock::new(40, Tick(0), Duration::ZERO);
        let (arrivals, trip) = (SnapshotArrivals::new(40, 20), RoundTrip::default());
        clock.advance(Duration::ZERO, &arrivals, &trip);
        assert!(clock.advance(Duration::from_secs(3_600), &arrivals, &trip) <= TICKS_AT_ONCE_MAX);
        let after = Duration::from_secs(3_600) + Duration::from_millis(25);
        assert!(clock.advance(after, &arrivals, &trip) <= 1);
    }
}
