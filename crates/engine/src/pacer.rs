//! [`TickPacer`]: decides when ticks are due.

use std::time::Duration;

/// Turns time into ticks: a fixed time step with a bounded catch-up.
#[derive(Clone, Debug)]
pub struct TickPacer {
    step: Duration,
    catch_up_max: u32,
    next: Duration,
    rate: f32,
}

/// Result of [`TickPacer::due`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DueTicks {
    /// Ticks to run now.
    pub run: u32,
    /// Ticks to drop because too many were missed.
    pub dropped: u32,
}

impl TickPacer {
    /// Returns a pacer whose first tick is due at `start`. With a `catch_up_max` of zero, late ticks are neither caught
    /// up nor dropped.
    #[must_use]
    pub fn new(tick_hz: u32, catch_up_max: u32, start: Duration) -> Self {
        TickPacer { step: Duration::from_secs(1) / tick_hz.max(1), catch_up_max, next: start, rate: 1.0 }
    }

    /// Returns the time at which the next tick is due.
    #[must_use]
    pub fn next(&self) -> Duration {
        self.next
    }

    /// Returns the current time between ticks.
    #[must_use]
    pub fn step(&self) -> Duration {
        if self.rate == 1.0 { self.step } else { self.step.div_f32(self.rate) }
    }

    /// Sets the speed of time: 1 is normal, 0.5 half as fast.
    pub fn set_rate(&mut self, rate: f32) {
        self.rate = rate.clamp(0.1, 1.0);
    }

    /// Returns the ticks that are due at `now`.
    pub fn due(&mut self, now: Duration) -> DueTicks {
        let Some(late) = now.checked_sub(self.next) else { return DueTicks::default() };
        let step = self.step();
        if self.catch_up_max == 0 {
            self.next = (self.next + step).max(now);
            return DueTicks { run: 1, dropped: 0 };
        }
        let due = u32::try_from(late.as_nanos() / step.as_nanos().max(1)).unwrap_or(u32::MAX - 1) + 1;
        self.next += step * due;
        let run = due.min(self.catch_up_max);
        DueTicks { run, dropped: due - run }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn on_time_every_step_runs_once() {
        let mut pacer = TickPacer::new(50, 8, ms(0));
        let steps: Vec<u32> = (0..10).map(|i| pacer.due(ms(i * 10)).run).collect();
        assert_eq!(steps, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn missed_ticks_are_caught_up_within_the_bound_and_the_rest_counted() {
        let mut pacer = TickPacer::new(50, 8, ms(0));
        assert_eq!(pacer.due(ms(0)), DueTicks { run: 1, dropped: 0 });
        assert_eq!(pacer.due(ms(105)), DueTicks { run: 5, dropped: 0 });
        assert_eq!(pacer.due(ms(1_105)), DueTicks { run: 8, dropped: 42 });
        assert_eq!(pacer.due(ms(1_120)), DueTicks { run: 1, dropped: 0 });
    }

    #[test]
    fn without_catch_up_no_tick_is_dropped_or_repeated() {
        let mut pacer = TickPacer::new(50, 0, ms(0));
        assert_eq!(pacer.due(ms(500)), DueTicks { run: 1, dropped: 0 });
        assert_eq!(pacer.due(ms(501)), DueTicks { run: 1, dropped: 0 });
        assert_eq!(pacer.due(ms(502)), DueTicks { run: 0, dropped: 0 });
    }

    #[test]
    fn slow_time_spreads_the_ticks() {
        let mut pacer = TickPacer::new(50, 8, ms(0));
        pacer.set_rate(0.5);
        let run: u32 = (0..100).map(|i| pacer.due(ms(i * 10)).run).sum();
        assert_eq!(run, 25);
    }

    #[test]
    fn a_clock_that_jumps_far_ahead_does_not_overflow() {
        let mut pacer = TickPacer::new(128, 8, ms(0));
        let steps = pacer.due(Duration::from_secs(3_000_000));
        assert_eq!((steps.run, steps.dropped), (8, 384_000_001 - 8));
    }
}
