//! Timer for silence of the server that ignores pauses of the game itself.

use std::time::Duration;

/// With two pings per second, a connection that is silent for this long is dead.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(6);

/// Longest wait for the answer to a hello.
pub(super) const WELCOME_TIME_MAX: Duration = Duration::from_secs(8);

/// Largest time counted between two checks: a paused game sends no pings, so the server need not answer.
const CHECK_INTERVAL_MAX: Duration = Duration::from_secs(1);

/// Measures the time since the last message.
#[derive(Debug, Default)]
pub(super) struct SilenceTimer {
    elapsed: Duration,
    checked_at: Duration,
}

impl SilenceTimer {
    /// Restarts the timer after a message.
    pub(super) fn restart(&mut self, now: Duration) {
        *self = SilenceTimer { elapsed: Duration::ZERO, checked_at: now };
    }

    /// Updates the timer and returns the measured silence.
    pub(super) fn elapsed(&mut self, now: Duration) -> Duration {
        self.elapsed += now.saturating_sub(self.checked_at).min(CHECK_INTERVAL_MAX);
        self.checked_at = now;
        self.elapsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_each_frame(timer: &mut SilenceTimer, from_ms: u64, to_ms: u64) -> Duration {
        let checks = (from_ms..=to_ms).step_by(10).map(|now| timer.elapsed(Duration::from_millis(now)));
        checks.last().expect("at least one check")
    }

    #[test]
    fn silence_adds_up_until_a_message_arrives() {
        let mut timer = SilenceTimer::default();
        timer.restart(Duration::ZERO);
        assert_eq!(check_each_frame(&mut timer, 0, 5_000), Duration::from_secs(5));
        assert_eq!(check_each_frame(&mut timer, 5_000, 6_500), Duration::from_millis(6_500));
        timer.restart(Duration::from_millis(6_500));
        assert_eq!(check_each_frame(&mut timer, 6_500, 8_000), Duration::from_millis(1_500));
    }

    #[test]
    fn a_paused_game_counts_as_one_check() {
        let mut timer = SilenceTimer::default();
        timer.restart(Duration::ZERO);
        assert_eq!(timer.elapsed(Duration::from_secs(3_600)), CHECK_INTERVAL_MAX);
    }
}
