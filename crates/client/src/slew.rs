//! Clock that follows a target without jumping.

use std::time::Duration;

/// Limits of a [`Slew`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlewBounds {
    /// Largest relative change of the rate.
    pub rate_change_max: f64,
    /// Time in which a small error is corrected.
    pub settle_seconds: f64,
    /// Error beyond which the clock jumps to the target.
    pub jump_seconds: f64,
}

/// Tick with its fraction that runs at the room's rate, slightly faster or slower while it differs from its target. It
/// never goes back, except by a jump.
#[derive(Clone, Debug)]
pub struct Slew {
    bounds: SlewBounds,
    ticks_per_second: f64,
    position: f64,
    at: Option<Duration>,
}

impl Slew {
    /// Creates a clock. The first call of [`Slew::advance`] starts it at the target.
    #[must_use]
    pub fn new(ticks_per_second: f64, bounds: SlewBounds) -> Self {
        Slew { bounds, ticks_per_second, position: 0.0, at: None }
    }

    /// Sets the rate. The position stays.
    pub fn set_ticks_per_second(&mut self, ticks_per_second: f64) {
        self.ticks_per_second = ticks_per_second;
    }

    /// Current tick with its fraction.
    #[must_use]
    pub fn position(&self) -> f64 {
        self.position
    }

    /// Advances to `now`, towards `target`. Returns true if it jumped.
    pub fn advance(&mut self, now: Duration, target: f64) -> bool {
        let Some(at) = self.at.replace(now.max(self.at.unwrap_or(now))) else {
            self.position = target;
            return true;
        };
        let ticks = now.saturating_sub(at).as_secs_f64() * self.ticks_per_second;
        let error = target - (self.position + ticks);
        if error.abs() > self.bounds.jump_seconds * self.ticks_per_second {
            self.position = target;
            return true;
        }
        let SlewBounds { rate_change_max, settle_seconds, .. } = self.bounds;
        let change = error / (settle_seconds * self.ticks_per_second);
        self.position += ticks * (1.0 + change.clamp(-rate_change_max, rate_change_max));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: SlewBounds = SlewBounds { rate_change_max: 0.05, settle_seconds: 0.5, jump_seconds: 0.3 };

    #[test]
    fn it_starts_at_the_target_and_runs_at_the_rate() {
        let mut slew = Slew::new(40.0, BOUNDS);
        assert!(slew.advance(Duration::from_secs(5), 100.0));
        assert!(!slew.advance(Duration::from_secs(6), 140.0));
        assert_eq!(slew.position(), 140.0);
    }

    #[test]
    fn a_small_error_is_corrected_within_the_rate_limit() {
        let mut slew = Slew::new(40.0, BOUNDS);
        slew.advance(Duration::ZERO, 0.0);
        let mut before = 0.0;
        for frame in 1..=300_u32 {
            let now = Duration::from_millis(10) * frame;
            // The target is 4 ticks ahead: a tenth of a second.
            assert!(!slew.advance(now, now.as_secs_f64() * 40.0 + 4.0));
            let ticks = slew.position() - before;
            assert!((0.4 * 0.95 - 1e-9..=0.4 * 1.05 + 1e-9).contains(&ticks), "{ticks} ticks in a frame of 0.4");
            before = slew.position();
        }
        assert!((slew.position() - 124.0).abs() < 0.2, "{}", slew.position());
    }

    #[test]
    fn a_large_error_jumps_and_time_that_goes_back_is_ignored() {
        let mut slew = Slew::new(40.0, BOUNDS);
        slew.advance(Duration::from_secs(1), 40.0);
        assert!(!slew.advance(Duration::from_millis(500), 40.0), "the caller's clock went back");
        assert_eq!(slew.position(), 40.0);
        assert!(slew.advance(Duration::from_secs(2), 4e9));
        assert_eq!(slew.position(), 4e9);
    }
}
