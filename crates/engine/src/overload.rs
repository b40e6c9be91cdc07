//! What a room gives up when it does not keep up, in this order and visibly: far entities are updated less often, then
//! fewer entities are shown, then time runs slower.

use crate::settings::RoomSettings;

/// Above this share of its budget a tick counts as busy.
const BUSY_SHARE: f32 = 0.8;
/// Below this share it counts as calm. The gap between the two keeps a room from going up and down all the time.
const CALM_SHARE: f32 = 0.5;
/// So many busy ticks in a row lead one rung up.
const BUSY_TICKS: u32 = 10;
/// So many calm ticks in a row lead one rung down.
const CALM_TICKS: u32 = 60;
/// A player sees no fewer than so many entities, however busy the room.
const NEAREST_MIN: usize = 16;
/// What the cap is halved from in a room that has none.
const NEAREST_START: usize = 128;

/// The ladder of overload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverloadLadder {
    rung: u8,
    busy: u32,
    calm: u32,
}

impl OverloadLadder {
    /// The highest rung.
    pub const RUNGS: u8 = 6;

    /// Takes in what share of its budget the last tick took; true if the rung changed.
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

    /// Which rung: 0 is none, 1 and 2 slow the outer rings, 3 and 4 show fewer entities, 5 and 6 slow time.
    #[must_use]
    pub fn rung(&self) -> u8 {
        self.rung
    }

    /// By how much the intervals of the outer rings are stretched.
    #[must_use]
    pub fn ring_stretch(&self) -> u32 {
        1 << self.rung.min(2)
    }

    /// The most entities that a player sees.
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

    /// How fast time runs: 1 is normal.
    #[must_use]
    pub fn time_rate(&self) -> f32 {
        match self.rung {
            0..=4 => 1.0,
            5 => 0.75,
            _ => 0.5,
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
    fn load_is_shed_in_order_rings_then_sight_then_time() {
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
            assert!(!overload.update(0.65), "between busy and calm nothing changes");
        }
        for _ in 0..180 {
            overload.update(0.1);
        }
        assert_eq!(overload.rung(), 0);
        assert_eq!(after(std::iter::repeat_n(9.0, 10_000)).rung(), OverloadLadder::RUNGS);
    }
}
