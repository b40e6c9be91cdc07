//! When state arrives: which tick to expect by now, and how far in the past to show things.

use aether_wire::Tick;
use std::collections::VecDeque;
use std::time::Duration;

/// Arrivals that are looked back on: some seconds, so that the delay follows a network that changes, and not its every
/// hiccup.
const ARRIVALS_KEPT: usize = 64;
/// So many arrivals in a row must agree before the past is forgotten.
const AGREEING: usize = 8;
/// Arrivals that are all later than this do not come late: the way became longer, or the server stood still.
const LATE_SECONDS_MAX: f64 = 0.25;
/// Snapshots between two arrivals beyond which the server had nothing to say, rather than packets being lost.
const GAP_SNAPSHOTS_MAX: f64 = 4.0;
/// Of the arrivals that are looked back on, so many may come too late for the delay. They are extrapolated to.
const TOO_LATE: usize = 2;
/// What the delay has to spare.
const SPARE_SECONDS: f64 = 0.005;
/// The weight of an arrival in the jitter.
const JITTER_GAIN: f64 = 1.0 / 16.0;

/// Watches the arrival of snapshots.
#[derive(Clone, Debug)]
pub struct SnapshotArrivals {
    ticks_per_second: f64,
    ticks_per_snapshot: f64,
    kept: VecDeque<Arrival>,
    newest: Option<Tick>,
    /// When tick 0 would have arrived, by the fastest way.
    origin_seconds: f64,
    jitter_seconds: f64,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    /// When tick 0 would have arrived, had it taken as long.
    origin_seconds: f64,
    /// The same, for the tick that had to do until this one came.
    wanted_seconds: f64,
}

impl SnapshotArrivals {
    /// None yet, in a room of these rates.
    #[must_use]
    pub fn new(tick_hz: u32, snapshot_hz: u32) -> Self {
        let tick_hz = tick_hz.max(1);
        SnapshotArrivals {
            ticks_per_second: f64::from(tick_hz),
            ticks_per_snapshot: f64::from(tick_hz) / f64::from(snapshot_hz.clamp(1, tick_hz)),
            kept: VecDeque::with_capacity(ARRIVALS_KEPT),
            newest: None,
            origin_seconds: 0.0,
            jitter_seconds: 0.0,
        }
    }

    /// The state of a tick has arrived. What is not newer than all before says nothing about the way.
    pub fn record(&mut self, tick: Tick, now: Duration) {
        if self.newest.is_some_and(|newest| tick <= newest) {
            return;
        }
        let now = now.as_secs_f64();
        let at = |tick: f64| now - tick / self.ticks_per_second;
        let gap = self.newest.map_or(self.ticks_per_snapshot, |newest| f64::from(tick.since(newest)));
        let silent = gap > GAP_SNAPSHOTS_MAX * self.ticks_per_snapshot;
        let gap = if silent { self.ticks_per_snapshot } else { gap };
        let origin_seconds = at(f64::from(tick.0));
        if let Some(before) = self.kept.back() {
            let change = (origin_seconds - before.origin_seconds).abs();
            self.jitter_seconds += (change.min(1.0) - self.jitter_seconds) * JITTER_GAIN;
        }
        if self.kept.len() == ARRIVALS_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(Arrival { origin_seconds, wanted_seconds: at(f64::from(tick.0) - gap) });
        self.newest = Some(tick);
        let recent = earliest(self.kept.iter().rev().take(AGREEING));
        if self.kept.len() > AGREEING && recent - earliest(self.kept.iter()) > LATE_SECONDS_MAX {
            self.kept.drain(..self.kept.len() - AGREEING);
        }
        self.origin_seconds = earliest(self.kept.iter());
    }

    /// The newest tick that has arrived.
    #[must_use]
    pub fn newest(&self) -> Option<Tick> {
        self.newest
    }

    /// The tick, with its fraction, that arrives now by the fastest way; nothing before the first arrival.
    #[must_use]
    pub fn tick_at(&self, now: Duration) -> Option<f64> {
        self.newest?;
        Some(((now.as_secs_f64() - self.origin_seconds) * self.ticks_per_second).max(0.0))
    }

    /// How much the time under way differs from one snapshot to the next.
    #[must_use]
    pub fn jitter(&self) -> Duration {
        Duration::from_secs_f64(self.jitter_seconds.max(0.0))
    }

    /// How far behind [`SnapshotArrivals::tick_at`] to stay, so that nearly always a state has arrived that is newer than what is
    /// shown; nothing until enough arrived to tell.
    #[must_use]
    pub fn delay_wanted(&self) -> Option<Duration> {
        if self.kept.len() < ARRIVALS_KEPT / 4 {
            return None;
        }
        // The few latest are left out: what has to be shown before they come is carried on instead.
        let mut latest = [f64::MIN; TOO_LATE + 1];
        for arrival in &self.kept {
            let mut wanted = arrival.wanted_seconds;
            for kept in &mut latest {
                if wanted > *kept {
                    std::mem::swap(kept, &mut wanted);
                }
            }
        }
        let seconds = latest[TOO_LATE] - self.origin_seconds + SPARE_SECONDS;
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
    fn an_even_stream_needs_a_delay_of_one_snapshot() {
        let mut arrivals = SnapshotArrivals::new(40, 20);
        for snapshot in 1..=100_u32 {
            arrivals.record(Tick(snapshot * 2), TICK * snapshot * 2 + Duration::from_millis(80));
        }
        let now = TICK * 200 + Duration::from_millis(80);
        assert!((arrivals.tick_at(now).unwrap() - 200.0).abs() < 1e-6);
        assert!((ms(arrivals.delay_wanted().unwrap()) - 55.0).abs() < 0.1);
        assert!(ms(arrivals.jitter()) < 0.01);
    }

    #[test]
    fn jitter_and_losses_need_more() {
        let mut arrivals = SnapshotArrivals::new(40, 20);
        for snapshot in 1..=100_u32 {
            if snapshot % 5 != 0 {
                let late = Duration::from_millis(u64::from(snapshot * 7 % 4) * 10);
                arrivals.record(Tick(snapshot * 2), TICK * snapshot * 2 + late);
            }
        }
        let wanted = ms(arrivals.delay_wanted().unwrap());
        assert!((105.0..=136.0).contains(&wanted), "{wanted}: two snapshots, and up to 30 ms of jitter");
        assert!(ms(arrivals.jitter()) > 5.0);
    }

    #[test]
    fn a_server_that_had_nothing_to_say_is_no_bad_network() {
        let mut arrivals = SnapshotArrivals::new(40, 20);
        for second in 1..=100_u32 {
            arrivals.record(Tick(second * 40), TICK * second * 40);
        }
        assert!((ms(arrivals.delay_wanted().unwrap()) - 55.0).abs() < 0.1);
    }

    #[test]
    fn a_longer_way_is_accepted_after_a_few_arrivals() {
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
