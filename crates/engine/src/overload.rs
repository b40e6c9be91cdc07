//! [`OverloadLadder`]: the steps by which an overloaded room does less. First, distant entities are updated less often;
//! then players see fewer entities; then time slows down.

use crate::settings::RoomSettings;

/// Share of the tick budget above which a tick counts as busy.
const BUSY_SHARE: f32 = 0.8;
/// Share below which a tick counts as calm. The gap to the busy share prevents flapping.
const CALM_SHARE: f32 = 0.5;
/// Consecutive busy ticks that lead one rung up.
const BUSY_TICKS: u32 = 10;
/// Consecutive calm ticks that lead one rung down.
const CALM_TICKS: u32 = 60;
/// Minimum number of entities that a player sees under overload.
const NEAREST_MIN: usize = 16;
/// Cap from which halving starts in a room without a cap.
const NEAREST_START: usize = 128;

/// The overload ladder of a room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverloadLadder {
    rung: u8,
    busy: u32,
    calm: u32,
}

impl OverloadLadder {
    /// Highest rung.
    pub const RUNGS: u8 = 6;

    /// Records the share of the budget that the last tick used. Returns true if the rung changed.
    pub fn update(&mut self, share: f32) -> bool {
        self.busy = if share > BUSY_SHARE { self.busy + 1 } else { 0 };
        self.calm = if share < CALM_SHARE { self.calm + 1 } else { 0 };
        if self.busy >= BUSY_TICKS && self.rung < Self::RUNGS {
            *self = OverloadLadder { rung: self.rung + 1, busy: 0, calm: 0 };
            return true;
        }
        if self.calm >= CALM_TICKS && self.rung > 0 {
            *self = OverloadLadder { rung: self.rung - 1, busy: 0, calm: 0 };
            return true;
        }
        false
    }

    /// Returns the rung: 0 is no overload, 1 and 2 stretch the outer rings, 3 and 4 show fewer entities, 5 and 6 slow
    /// time.
    #[must_use]
    pub fn rung(&self) -> u8 {
        self.rung
    }

    /// Returns the factor by which the intervals of the outer rings are stretched.
    #[must_use]
    pub fn ring_stretch(&self) -> u32 {
        1 << self.rung.min(2)
    }

    /// Returns the maximum number of entities that a player sees.
    #[must_use]
    pub fn nearest_max(&self, settings: &RoomSettings) -> Option<usize> {
        let usual = settings.interest.and_then(|interest| interest.nearest_max);
        match self.rung {
            0..=2 => usual,
            rung => {
                let halvings = u32::from(rung.min(4) - 2);
                Some((usual.unwrap_or(NEAREST_START) >> halvings).max(NEAREST_MIN.min(usual.unwrap_or(NEAREST_MIN))))
            }
        }
    }

    /// Returns the speed of time; 1 is normal.
    #[must_use]
    pub fn time_rate(&self) -> f32 {
        (100 - self.slowdown_percent()) as f32 / 100.0
    }

    /// Returns by how much time is slowed, in percent; 0 is normal.
    #[must_use]
    pub fn slowdown_percent(&self) -> u32 {
        Self::slowdown_percent_at(self.rung.into())
    }

    /// Returns the slowdown of time on a rung, in percent.
    pub(crate) fn slowdown_percent_at(rung: u32) -> u32 {
        match rung {
            0..=4 => 0,
            5 => 25,
            _ => 50,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(shares: impl Iterator<Item = f32>) -> OverloadLadder {
        let mut overload = OverloadLadder::default();
        shares.for_each(|share| {
            overload.update(share);
        });
        overload
    }

    #[test]
    fn load_is_shed_in_order_rings_then_interest_then_time() {
        let settings = RoomSettings::default();
        let rungs: Vec<_> = (0..=6).map(|rung| after(std::iter::repeat_n(0.9, rung * 10))).collect();
        let stretches: Vec<_> = rungs.iter().map(OverloadLadder::ring_stretch).collect();
        let caps: Vec<_> = rungs.iter().map(|rung| rung.nearest_max(&settings)).collect();
        let rates: Vec<_> = rungs.iter().map(OverloadLadder::time_rate).collect();
        assert_eq!(stretches, [1, 2, 4, 4, 4, 4, 4]);
        assert_eq!(caps, [None, None, None, Some(64), Some(32), Some(32), Some(32)]);
        assert_eq!(rates, [1.0, 1.0, 1.0, 1.0, 1.0, 0.75, 0.5]);
    }

    #[test]
    fn it_recovers_slowly_and_does_not_flap() {
        let mut overload = after(std::iter::repeat_n(0.9, 30));
        assert_eq!(overload.rung(), 3);
        for _ in 0..1_000 {
            assert!(!overload.update(0.65), "the rung changes between busy and calm");
        }
        for _ in 0..180 {
            overload.update(0.1);
        }
        assert_eq!(overload.rung(), 0);
        assert_eq!(after(std::iter::repeat_n(9.0, 10_000)).rung(), OverloadLadder::RUNGS);
    }
}
