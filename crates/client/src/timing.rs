//! Two clocks of a client: the tick that it plays, and the tick that it displays.

use crate::{ClientSettings, ClientStats, RoundTrip, Slew, SlewBounds, SnapshotArrivals, TickClock, TrackSampling};
use aether_wire::{Pong, Tick, ViewTick, Welcome};
use std::time::Duration;

/// Limits of the displayed tick: a rate change of 5 % is invisible.
const BOUNDS: SlewBounds = SlewBounds { rate_change_max: 0.05, settle_seconds: 0.5, jump_seconds: 1.0 };
/// Rate at which the delay shrinks, in seconds per second. It grows at once, because a jump is visible and a delay is
/// not.
const DELAY_SHRINK_RATE: f64 = 0.01;
/// Largest plausible lead of a received tick. A tick far in the future would make all later packets look late.
const AHEAD_SECONDS_MAX: f64 = 60.0;

/// Largest slowdown of the room's time that is followed, in percent. A client whose time stands still would not play.
const SLOWDOWN_PERCENT_MAX: u32 = 90;

/// Clocks and network timing of a joined room.
#[derive(Debug)]
pub(crate) struct ClientTiming {
    /// Rate of the room at the normal speed of its time.
    ticks_per_second_usual: f64,
    /// Current rate of the room.
    ticks_per_second: f64,
    overload_rung: u32,
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
            ticks_per_second_usual: ticks_per_second,
            ticks_per_second,
            overload_rung: 0,
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

    /// Handles a pong: measures the round trip, and follows the speed of the room's time.
    pub fn handle_pong(&mut self, pong: &Pong, now: Duration) {
        // A pong without a pending ping may be a duplicate.
        if !self.round_trip.handle_pong(pong, now) {
            return;
        }
        self.overload_rung = pong.overload_rung;
        let share = f64::from(100 - pong.slowdown_percent.min(SLOWDOWN_PERCENT_MAX)) / 100.0;
        let ticks_per_second = self.ticks_per_second_usual * share;
        if ticks_per_second != self.ticks_per_second {
            self.ticks_per_second = ticks_per_second;
            self.arrivals.set_ticks_per_second(ticks_per_second);
            self.display.set_ticks_per_second(ticks_per_second);
            self.clock.set_ticks_per_second(ticks_per_second);
        }
    }

    /// Returns true if the server can have reached this tick.
    pub fn is_plausible(&self, tick: Tick, now: Duration) -> bool {
        let (newest, since) = self.newest;
        // A room that catches up runs faster than its rate.
        let seconds = 2.0 * now.saturating_sub(since).as_secs_f64() + AHEAD_SECONDS_MAX;
        f64::from(tick.0) <= f64::from(newest.0) + seconds * self.ticks_per_second_usual
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
        let arriving_seconds = self.arrivals.tick_at(self.now)? / self.ticks_per_second_usual;
        Some(arriving_seconds + self.round_trip.mean()?.as_secs_f64() / 2.0 - self.now.as_secs_f64())
    }

    pub fn fill_stats(&self, stats: &mut ClientStats) {
        stats.round_trip = self.round_trip.mean();
        stats.jitter = self.arrivals.jitter();
        stats.clock_offset_seconds = self.clock_offset_seconds();
        let arriving = self.arrivals.tick_at(self.now).unwrap_or(0.0);
        let behind = (arriving - self.display.position()).max(0.0) / self.ticks_per_second;
        stats.delay = Duration::from_secs_f64(behind.min(3_600.0));
        stats.time_rate = (self.ticks_per_second / self.ticks_per_second_usual) as f32;
        stats.overload_rung = self.overload_rung;
        stats.lead_ticks = f64::from(self.clock.tick().0) - arriving;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Duration = Duration::from_millis(60);

    /// A server whose time is slowed from one moment to another, and a client that follows it.
    struct Slowed {
        timing: ClientTiming,
        /// Tick of the server, with its fraction.
        server_tick: f64,
        snapshot: u32,
        pongs: Vec<(Duration, Pong)>,
        now: Duration,
    }

    impl Slowed {
        fn new() -> Slowed {
            let welcome = Welcome { tick_hz: 40, snapshot_hz: 20, server_tick: Tick(1_000), ..Welcome::default() };
            let timing = ClientTiming::new(&welcome, &ClientSettings::default(), Duration::ZERO);
            Slowed { timing, server_tick: 1_000.0, snapshot: 1_000, pongs: Vec::new(), now: Duration::ZERO }
        }

        /// Runs for some seconds. Returns the number of client ticks that were due, the largest lead of the client's
        /// tick and the smallest, each relative to the tick of the server.
        fn run(&mut self, seconds: u32, slowdown_percent: u32) -> (u32, f64, f64) {
            let (mut due, mut most, mut least) = (0, f64::MIN, f64::MAX);
            let end = self.now + Duration::from_secs(seconds.into());
            while self.now < end {
                self.now += Duration::from_millis(1);
                self.server_tick += 0.04 * f64::from(100 - slowdown_percent) / 100.0;
                if self.server_tick as u32 >= self.snapshot + 2 {
                    self.snapshot += 2;
                    self.timing.handle_arrival(Tick(self.snapshot), self.now + ROUND_TRIP / 2);
                }
                if let Some(client_time) = self.timing.round_trip.poll_ping(self.now) {
                    let pong = Pong { client_time, slowdown_percent, overload_rung: 6, ..Pong::default() };
                    self.pongs.push((self.now + ROUND_TRIP, pong));
                }
                let arrived = self.pongs.iter().take_while(|(at, _)| *at <= self.now).count();
                for (at, pong) in self.pongs.drain(..arrived) {
                    self.timing.handle_pong(&pong, at);
                }
                if self.now.as_millis().is_multiple_of(16) {
                    due += self.timing.advance(self.now, &ClientSettings::default());
                    let lead = f64::from(self.timing.clock.tick().0) - self.server_tick;
                    (most, least) = (most.max(lead), least.min(lead));
                }
            }
            (due, most, least)
        }

        fn time_rate(&self) -> f32 {
            let mut stats = ClientStats::default();
            self.timing.fill_stats(&mut stats);
            stats.time_rate
        }
    }

    #[test]
    fn the_clock_follows_the_time_of_an_overloaded_room_and_returns_to_normal() {
        let mut slowed = Slowed::new();
        slowed.run(5, 0);
        let (due, most, least) = slowed.run(10, 0);
        assert!((395..=405).contains(&due), "{due} ticks in ten seconds at the normal speed");
        for (slowdown_percent, time_rate, expected) in
            [(50, 0.5, 195..=205), (25, 0.75, 295..=305), (0, 1.0, 395..=405)]
        {
            // A pong tells the new speed within half a second.
            slowed.run(3, slowdown_percent);
            assert_eq!(slowed.time_rate(), time_rate);
            let (due, slow_most, slow_least) = slowed.run(10, slowdown_percent);
            assert!(expected.contains(&due), "{due} ticks in ten seconds at {time_rate} of the speed");
            assert!(slow_most < most + 2.0 && slow_least > least - 2.0, "{slow_least} to {slow_most} ticks ahead");
        }
    }

    #[test]
    fn a_room_cannot_stop_the_clock_of_its_clients() {
        let mut slowed = Slowed::new();
        slowed.run(2, 0);
        for slowdown_percent in [100, 101, u32::MAX] {
            let client_time =
                slowed.timing.round_trip.poll_ping(slowed.now + Duration::from_secs(5)).expect("it is due");
            slowed.now += Duration::from_secs(5);
            slowed.timing.handle_pong(&Pong { client_time, slowdown_percent, ..Pong::default() }, slowed.now);
            assert_eq!(slowed.time_rate(), 0.1);
        }
    }
}
