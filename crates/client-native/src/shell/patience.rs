//! How long something was waited for, also by a game that stood still in between.

use std::time::Duration;

/// With pings twice a second, silence for this long means that the connection is dead.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(6);

/// The server answers a hello within this time, or something else is there.
pub(super) const WELCOME_TIME_MAX: Duration = Duration::from_secs(8);

/// Between two looks no more than this counts: whoever stood still sent no pings, and what is not asked need not answer.
const LOOK_MAX: Duration = Duration::from_secs(1);

/// Counts the time since something was heard.
#[derive(Debug, Default)]
pub(super) struct SilenceTimer {
    waited: Duration,
    looked_at: Duration,
}

impl SilenceTimer {
    /// What was waited for is there, and the next is waited for.
    pub(super) fn restart(&mut self, now: Duration) {
        *self = SilenceTimer { waited: Duration::ZERO, looked_at: now };
    }

    /// Looks, and tells for how long it has been waited.
    pub(super) fn waited(&mut self, now: Duration) -> Duration {
        self.waited += now.saturating_sub(self.looked_at).min(LOOK_MAX);
        self.looked_at = now;
        self.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_each_frame(patience: &mut SilenceTimer, from_ms: u64, to_ms: u64) -> Duration {
        let looks = (from_ms..=to_ms).step_by(10).map(|now| patience.waited(Duration::from_millis(now)));
        looks.last().expect("it was looked")
    }

    #[test]
    fn waiting_adds_up_until_something_is_heard() {
        let mut patience = SilenceTimer::default();
        patience.restart(Duration::ZERO);
        assert_eq!(look_each_frame(&mut patience, 0, 5_000), Duration::from_secs(5));
        assert_eq!(look_each_frame(&mut patience, 5_000, 6_500), Duration::from_millis(6_500));
        patience.restart(Duration::from_millis(6_500));
        assert_eq!(look_each_frame(&mut patience, 6_500, 8_000), Duration::from_millis(1_500));
    }

    #[test]
    fn a_game_that_stood_still_proves_nothing() {
        let mut patience = SilenceTimer::default();
        patience.restart(Duration::ZERO);
        assert_eq!(patience.waited(Duration::from_secs(3_600)), LOOK_MAX);
    }
}
