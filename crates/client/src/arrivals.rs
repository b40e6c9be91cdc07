//! Arrival times of snapshots: they determine the expected tick and the interpolation delay.

use aether_wire::Tick;
use std::collections::VecDeque;
use std::time::Duration;

/// Number of stored arrivals: some seconds, so that the delay follows changes of the network but not every spike.
const ARRIVALS_MAX: usize = 64;
/// Number of consecutive late arrivals after which older arrivals are discarded.
const AGREEING_MIN: usize = 8;
/// If all recent arrivals are later than this, the route became longer or the server paused.
const LATE_SECONDS_MAX: f64 = 0.25;
/// Gap between two arrivals, in snapshots, beyond which the server was idle rather than packets lost.
const GAP_SNAPSHOTS_MAX: f64 = 4.0;
/// Number of stored arrivals that may be too late for the delay. Extrapolation covers them.
const LATE_ALLOWED: usize = 2;
/// Safety margin of the delay.
const MARGIN_SECONDS: f64 = 0.005;
/// Weight of one arrival in the jitter estimate.
const JITTER_GAIN: f64 = 1.0 / 16.0;

/// Estimates network timing from the arrivals of snapshots.
#[derive(Clone, Debug)]
pub struct SnapshotArrivals {
    ticks_per_second: f64,
    ticks_per_snapshot: f64,
    recent: VecDeque<Arrival>,
    newest: Option<Tick>,
    /// Estimated arrival time of tick 0 with the lowest observed latency.
    origin_seconds: f64,
    jitter_seconds: f64,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    /// Arrival time of tick 0 with the latency of this arrival.
    origin_seconds: f64,
    /// The same for the previous snapshot, which was displayed until this one arrived.
    needed_seconds: f64,
}

impl SnapshotArrivals {
    /// Creates an empty estimator for a room with these rates.
    #[must_use]
    pub fn new(tick_hz: u32, snapshot_hz: u32) -> Self {
        let tick_hz = tick_hz.max(1);
        SnapshotArrivals {
            ticks_per_second: f64::from(tick_hz),
            ticks_per_snapshot: f64::from(tick_hz) / f64::from(snapshot_hz.clamp(1, tick_hz)),
            recent: VecDeque::with_capacity(ARRIVALS_MAX),
            newest: None,
            origin_seconds: 0.0,
            jitter_seconds: 0.0,
        }
    }

    /// Records the arrival of a tick's state. Ticks that are not newer than all before are ignored.
    pub fn record(&mut self, tick: Tick, now: Duration) {
        if self.newest.is_some_and(|newest| tick <= newest) {
            return;
        }
        let now = now.as_secs_f64();
        let at = |tick: f64| now - tick / self.ticks_per_second;
        let gap = self.newest.map_or(self.ticks_per_snapshot, |newest| f64::from(tick.since(newest)));
        let is_silent = gap > GAP_SNAPSHOTS_MAX * self.ticks_per_snapshot;
        let gap = if is_silent { self.ticks_per_snapshot } else { gap };
        let origin_seconds = at(f64::from(tick.0));
        if let Some(before) = self.recent.back() {
            let change = (origin_seconds - before.origin_seconds).abs();
            self.jitter_seconds += (change.min(1.0) - self.jitter_seconds) * JITTER_GAIN;
        }
        if self.recent.len() == ARRIVALS_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(Arrival { origin_seconds, needed_seconds: at(f64::from(tick.0) - gap) });
        self.newest = Some(tick);
        let recent_origin = earliest(self.recent.iter().rev().take(AGREEING_MIN));
        if self.recent.len() > AGREEING_MIN && recent_origin - earliest(self.recent.iter()) > LATE_SECONDS_MAX {
            self.recent.drain(..self.recent.len() - AGREEING_MIN);
        }
        self.origin_seconds = earliest(self.recent.iter());
    }

    /// Sets the rate of ticks, when the room slows its time or returns to normal. Earlier arrivals do not fit the new
    /// rate; the estimate starts again from the newest.
    pub fn set_ticks_per_second(&mut self, ticks_per_second: f64) {
        let before = std::mem::replace(&mut self.ticks_per_second, ticks_per_second);
        if let (Some(newest), Some(last)) = (self.newest, self.recent.back()) {
            let tick = f64::from(newest.0);
            let arrived = last.origin_seconds + tick / before;
            let at = |tick: f64| arrived - tick / ticks_per_second;
            let arrival = Arrival { origin_seconds: at(tick), needed_seconds: at(tick - self.ticks_per_snapshot) };
            self.recent.clear();
            self.recent.push_back(arrival);
            self.origin_seconds = arrival.origin_seconds;
        }
    }

    /// Newest tick that has arrived.
    #[must_use]
    pub fn newest(&self) -> Option<Tick> {
        self.newest
    }

    /// Tick, with its fraction, that arrives at `now` with the lowest latency. `None` before the first arrival.
    #[must_use]
    pub fn tick_at(&self, now: Duration) -> Option<f64> {
        self.newest?;
        Some(((now.as_secs_f64() - self.origin_seconds) * self.ticks_per_second).max(0.0))
    }

    /// Variation of the transit time between snapshots.
    #[must_use]
    pub fn jitter(&self) -> Duration {
        Duration::from_secs_f64(self.jitter_seconds.max(0.0))
    }

    /// Delay behind [`SnapshotArrivals::tick_at`] at which a newer state has nearly always arrived. `None` until enough
    /// snapshots have arrived.
    #[must_use]
    pub fn target_delay(&self) -> Option<Duration> {
        if self.recent.len() < ARRIVALS_MAX / 4 {
            return None;
        }
        // The few latest arrivals are ignored: extrapolation covers them.
        let mut latest = [f64::MIN; LATE_ALLOWED + 1];
        for arrival in &self.recent {
            let mut needed = arrival.needed_seconds;
            for slot in &mut latest {
                if needed > *slot {
                    std::mem::swap(slot, &mut needed);
                }
            }
        }
        let seconds = latest[LATE_ALLOWED] - self.origin_seconds + MARGIN_SECONDS;
        Some(Duration::from_secs_f64(seconds.clamp(0.0, 10.0)))
    }
}

fn earliest<'a>(arrivals: impl Iterator<Item = &'a Arrival>) -> f64 {
    arrivals.map(|arrival| arrival.origin_seconds).fold(f64::MAX, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(25);

    fn ms(duration: Duration) -> f64 {
        duration.as_secs_f64() * 1e3
    }

    #[test]
    fn a_regular_stream_needs_a_delay_of_one_snapshot() {
        let mut arrivals = SnapshotArrivals::new(40, 20);
        for snapshot in 1..=100_u32 {
            arrivals.record(Tick(snapshot * 2), TICK * snapshot * 2 + Duration::from_millis(80));
        }
        let now = TICK * 200 + Duration::from_millis(80);
        assert!((arrivals.tick_at(now).unwrap() - 200.0).abs() < 1e-6);
        assert!((ms(arrivals.target_delay().unwrap()) - 55.0).abs() < 0.1);
        assert!(ms(arrivals.jitter()) < 0.01);
    }

    #[test]
    fn jitter_and_loss_increase_the_delay() {
        let mut arrivals = SnapshotArrivals::new(40, 20);
        for snapshot in 1..=100_u32 {
            if snapshot % 5 != 0 {
                let late = Duration::from_millis(u64::from(snapshot * 7 % 4) * 10);
                arrivals.record(Tick(snapshot * 2), TICK * snapshot * 2 + late);
            }
        }
        let wanted = ms(arrivals.target_delay().unwrap());
        assert!((105.0..=136.0).contains(&wanted), "{wanted}: two snapshots, and up to 30 ms of jitter");
        assert!(ms(arrivals.jitter()) > 5.0);
    }

    #[test]
    fn an_idle_server_does_not_increase_the_delay() {
        let mut arrivals = SnapshotArrivals::new(40, 20);
        for second in 1..=100_u32 {
            arrivals.record(Tick(second * 40), TICK * second * 40);
        }
        assert!((ms(arrivals.target_delay().unwrap()) - 55.0).abs() < 0.1);
    }

    #[test]
    fn a_higher_latency_is_accepted_after_a_few_arrivals() {
        let mut arrivals = SnapshotArrivals::new(40, 20);
        let mut late = Duration::ZERO;
        for snapshot in 1..=60_u32 {
            late = if snapshot > 50 { Duration::from_millis(600) } else { late };
            arrivals.record(Tick(snapshot * 2), TICK * snapshot * 2 + late);
        }
        assert!((arrivals.tick_at(TICK * 120 + late).unwrap() - 120.0).abs() < 1e-6);
    }

    #[test]
    fn absurd_ticks_stay_finite() {
        let mut arrivals = SnapshotArrivals::new(0, u32::MAX);
        for tick in [0, u32::MAX, 7, u32::MAX] {
            arrivals.record(Tick(tick), Duration::from_secs(1));
        }
        assert!(arrivals.tick_at(Duration::MAX / 2).unwrap().is_finite());
    }
}
