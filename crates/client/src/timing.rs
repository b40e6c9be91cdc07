//! Two clocks of a client: the tick that it plays, and the tick that it displays.

use crate::{ClientSettings, ClientStats, RoundTrip, Slew, SlewBounds, SnapshotArrivals, TickClock, TrackSampling};
use aether_wire::{Tick, ViewTick, Welcome};
use std::time::Duration;

/// Limits of the displayed tick: a rate change of 5 % is invisible.
const BOUNDS: SlewBounds = SlewBounds { rate_change_max: 0.05, settle_seconds: 0.5, jump_seconds: 1.0 };
/// Rate at which the delay shrinks, in seconds per second. It grows at once, because a jump is visible and a delay is
/// not.
const DELAY_SHRINK_RATE: f64 = 0.01;
/// Largest plausible lead of a received tick. A tick far in the future would make all later packets look late.
const AHEAD_SECONDS_MAX: f64 = 60.0;

/// Clocks and network timing of a joined room.
#[derive(Debug)]
pub(crate) struct ClientTiming {
    ticks_per_second: f64,
    pub arrivals: SnapshotArrivals,
    pub round_trip: RoundTrip,
    pub clock: TickClock,
    display: Slew,
    delay_seconds: f64,
    now: Duration,
    /// Newest known tick and its arrival time.
    newest: (Tick, Duration),
    /// Tick that arrived before the newest one.
    previous: Tick,
}

impl ClientTiming {
    pub fn new(welcome: &Welcome, settings: &ClientSettings, now: Duration) -> Self {
        let ticks_per_second = f64::from(welcome.tick_hz.max(1));
        ClientTiming {
            ticks_per_second,
            arrivals: SnapshotArrivals::new(welcome.tick_hz, welcome.snapshot_hz),
            round_trip: RoundTrip::default(),
            clock: TickClock::new(welcome.tick_hz, welcome.server_tick, now),
            display: Slew::new(ticks_per_second, BOUNDS),
            delay_seconds: settings.delay.as_secs_f64(),
            now,
            newest: (welcome.server_tick, now),
            previous: Tick::ZERO,
        }
    }

    /// Advances to `now` and returns the number of client ticks that are due.
    pub fn advance(&mut self, now: Duration, settings: &ClientSettings) -> u32 {
        let elapsed = now.saturating_sub(self.now).as_secs_f64();
        self.now = self.now.max(now);
        let target = self.arrivals.target_delay().unwrap_or(settings.delay).as_secs_f64();
        let (min, max) = (settings.delay_min.as_secs_f64(), settings.delay_max.as_secs_f64());
        let target = target.min(max).max(min);
        self.delay_seconds = target.max(self.delay_seconds - elapsed * DELAY_SHRINK_RATE).min(max.max(min));
        if let Some(arriving) = self.arrivals.tick_at(now) {
            self.display.advance(now, (arriving - self.delay_seconds * self.ticks_per_second).max(0.0));
        }
        self.clock.advance(now, &self.arrivals, &self.round_trip)
    }

    /// Returns true if the server can have reached this tick.
    pub fn is_plausible(&self, tick: Tick, now: Duration) -> bool {
        let (newest, since) = self.newest;
        // A room that catches up runs faster than its rate.
        let seconds = 2.0 * now.saturating_sub(since).as_secs_f64() + AHEAD_SECONDS_MAX;
        f64::from(tick.0) <= f64::from(newest.0) + seconds * self.ticks_per_second
    }

    /// Records the arrival of a tick's state.
    pub fn handle_arrival(&mut self, tick: Tick, now: Duration) {
        if self.arrivals.newest().is_none_or(|newest| tick > newest) {
            self.previous = self.arrivals.newest().unwrap_or(Tick::ZERO);
            self.newest = (tick, now);
            self.arrivals.record(tick, now);
        }
    }

    /// Newest tick before this one of which something has arrived. Zero if unknown.
    pub fn tick_before(&self, tick: Tick) -> Tick {
        let newest = self.arrivals.newest().unwrap_or(Tick::ZERO);
        if newest < tick {
            newest
        } else if newest == tick {
            self.previous
        } else {
            Tick::ZERO
        }
    }

    /// Sampling parameters for remote entities.
    pub fn sampling(&self, settings: &ClientSettings) -> TrackSampling {
        TrackSampling {
            tick: self.display.position(),
            newest: self.arrivals.newest().unwrap_or(Tick::ZERO),
            extrapolation_ticks: settings.extrapolation_max.as_secs_f64() * self.ticks_per_second,
            teleport_distance: settings.teleport_distance,
            newest_only: !settings.interpolation,
        }
    }

    /// Displayed tick, for the server's lag compensation.
    pub fn view_tick(&self, settings: &ClientSettings) -> ViewTick {
        if !settings.interpolation {
            return ViewTick { tick: self.arrivals.newest().unwrap_or(Tick::ZERO), fraction: 0 };
        }
        let position = self.display.position().max(0.0);
        ViewTick { tick: Tick(position as u32), fraction: (position.fract() * 256.0) as u8 }
    }

    /// Server's time minus the client's: arriving state is half a round trip old.
    fn clock_offset_seconds(&self) -> Option<f64> {
        let arriving_seconds = self.arrivals.tick_at(self.now)? / self.ticks_per_second;
        Some(arriving_seconds + self.round_trip.mean()?.as_secs_f64() / 2.0 - self.now.as_secs_f64())
    }

    pub fn fill_stats(&self, stats: &mut ClientStats) {
        stats.round_trip = self.round_trip.mean();
        stats.jitter = self.arrivals.jitter();
        stats.clock_offset_seconds = self.clock_offset_seconds();
        let arriving = self.arrivals.tick_at(self.now).unwrap_or(0.0);
        let behind = (arriving - self.display.position()).max(0.0) / self.ticks_per_second;
        stats.delay = Duration::from_secs_f64(behind.min(3_600.0));
        stats.lead_ticks = f64::from(self.clock.tick().0) - arriving;
    }
}
