//! The two times of a client: the tick that it plays, and the tick that it shows.

use crate::{ClientSettings, ClientStats, RoundTrip, Slew, SlewBounds, SnapshotArrivals, TickClock, TrackSampling};
use aether_wire::{Tick, ViewTick, Welcome};
use std::time::Duration;

/// How the shown tick follows: a twentieth faster or slower is not seen.
const BOUNDS: SlewBounds = SlewBounds { rate_change_max: 0.05, settle_seconds: 0.5, jump_seconds: 1.0 };
/// By how much the delay shrinks in a second. It grows as soon as it has to, for a jump is seen and a delay is not.
const DELAY_SHRINKS_BY: f64 = 0.01;
/// Seconds by which a tick may be ahead of what the client's own clock says. Such a packet would make all later ones late.
const AHEAD_SECONDS_MAX: f64 = 60.0;

/// When things are.
#[derive(Debug)]
pub(crate) struct ClientTiming {
    ticks_per_second: f64,
    pub arrivals: SnapshotArrivals,
    pub round_trip: RoundTrip,
    pub clock: TickClock,
    view: Slew,
    delay_seconds: f64,
    now: Duration,
    /// The newest tick that is known, and since when.
    newest: (Tick, Duration),
    /// The newest tick before that one of which something arrived.
    before_newest: Tick,
}

impl ClientTiming {
    pub fn new(welcome: &Welcome, settings: &ClientSettings, now: Duration) -> Self {
        let ticks_per_second = f64::from(welcome.tick_hz.max(1));
        ClientTiming {
            ticks_per_second,
            arrivals: SnapshotArrivals::new(welcome.tick_hz, welcome.snapshot_hz),
            round_trip: RoundTrip::default(),
            clock: TickClock::new(welcome.tick_hz, welcome.server_tick, now),
            view: Slew::new(ticks_per_second, BOUNDS),
            delay_seconds: settings.delay.as_secs_f64(),
            now,
            newest: (welcome.server_tick, now),
            before_newest: Tick::ZERO,
        }
    }

    /// Goes on to now, and tells how many ticks of the client are due.
    pub fn advance(&mut self, now: Duration, settings: &ClientSettings) -> u32 {
        let elapsed = now.saturating_sub(self.now).as_secs_f64();
        self.now = self.now.max(now);
        let wanted = self.arrivals.delay_wanted().unwrap_or(settings.delay).as_secs_f64();
        let (min, max) = (settings.delay_min.as_secs_f64(), settings.delay_max.as_secs_f64());
        let wanted = wanted.min(max).max(min);
        self.delay_seconds = wanted.max(self.delay_seconds - elapsed * DELAY_SHRINKS_BY).min(max.max(min));
        if let Some(arriving) = self.arrivals.tick_at(now) {
            self.view.advance(now, (arriving - self.delay_seconds * self.ticks_per_second).max(0.0));
        }
        self.clock.advance(now, &self.arrivals, &self.round_trip)
    }

    /// Whether a tick is one that the server can have reached.
    pub fn is_plausible(&self, tick: Tick, now: Duration) -> bool {
        let (newest, since) = self.newest;
        // A room that catches up runs faster than its rate for a while.
        let seconds = 2.0 * now.saturating_sub(since).as_secs_f64() + AHEAD_SECONDS_MAX;
        f64::from(tick.0) <= f64::from(newest.0) + seconds * self.ticks_per_second
    }

    /// State of a tick has arrived.
    pub fn arrived(&mut self, tick: Tick, now: Duration) {
        if self.arrivals.newest().is_none_or(|newest| tick > newest) {
            self.before_newest = self.arrivals.newest().unwrap_or(Tick::ZERO);
            self.newest = (tick, now);
            self.arrivals.record(tick, now);
        }
    }

    /// The newest tick before this one of which something is known to have arrived; zero if that is not remembered.
    pub fn known_before(&self, tick: Tick) -> Tick {
        let newest = self.arrivals.newest().unwrap_or(Tick::ZERO);
        if newest < tick {
            newest
        } else if newest == tick {
            self.before_newest
        } else {
            Tick::ZERO
        }
    }

    /// How to look at others.
    pub fn sampling(&self, settings: &ClientSettings) -> TrackSampling {
        TrackSampling {
            tick: self.view.position(),
            newest: self.arrivals.newest().unwrap_or(Tick::ZERO),
            extrapolation_ticks: settings.extrapolation_max.as_secs_f64() * self.ticks_per_second,
            teleport_distance: settings.teleport_distance,
            newest_only: !settings.interpolation,
        }
    }

    /// What the player sees, for the server's lag compensation.
    pub fn view_tick(&self, settings: &ClientSettings) -> ViewTick {
        if !settings.interpolation {
            return ViewTick { tick: self.arrivals.newest().unwrap_or(Tick::ZERO), fraction: 0 };
        }
        let position = self.view.position().max(0.0);
        ViewTick { tick: Tick(position as u32), fraction: (position.fract() * 256.0) as u8 }
    }

    pub fn fill(&self, stats: &mut ClientStats) {
        stats.round_trip = self.round_trip.mean();
        stats.jitter = self.arrivals.jitter();
        let arriving = self.arrivals.tick_at(self.now).unwrap_or(0.0);
        let behind = (arriving - self.view.position()).max(0.0) / self.ticks_per_second;
        stats.delay = Duration::from_secs_f64(behind.min(3_600.0));
        stats.lead_ticks = f64::from(self.clock.tick().0) - arriving;
    }
}
