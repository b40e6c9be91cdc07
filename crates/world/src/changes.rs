//! Change history of a slot.

use aether_wire::Tick;

/// Ticks of the recent changes of a slot's entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastChanges {
    /// Tick of the last change.
    pub last: Tick,
    /// Tick of the last change before those in `recent`.
    older: Tick,
    /// Bit `i` is set if the entity changed `i` ticks before the last change.
    recent: u64,
}

impl LastChanges {
    /// Tick of the change before the last one.
    #[inline]
    #[must_use]
    pub fn before(&self) -> Tick {
        match self.recent & !1 {
            0 => self.older,
            others => Tick(self.last.0 - others.trailing_zeros()),
        }
    }

    /// Last tick that is known to have the same state as tick `from`.
    #[inline]
    #[must_use]
    pub fn steady_until(&self, from: Tick) -> Tick {
        if self.older > from {
            return from;
        }
        // The first change after `from` is the highest of these bits.
        let ago = self.last.0.saturating_sub(from.0);
        let later = if ago >= u64::BITS { self.recent } else { self.recent & ((1 << ago) - 1) };
        later.checked_ilog2().map_or(Tick(u32::MAX), |first| Tick(self.last.0 - first - 1))
    }

    /// Records a change at `tick`, which is not before the last one.
    #[inline]
    pub(crate) fn record(&mut self, tick: Tick) {
        let elapsed = tick.0 - self.last.0;
        if elapsed == 1 {
            // The usual case, with fewer instructions.
            if self.recent >> 63 != 0 {
                self.older = Tick(self.last.0 - 63);
            }
            (self.recent, self.last) = (self.recent << 1 | 1, tick);
            return;
        }
        let dropped = if elapsed == 0 { 0 } else { self.recent >> u64::BITS.saturating_sub(elapsed) };
        if dropped != 0 {
            self.older = Tick(self.last.0 - u64::BITS.saturating_sub(elapsed) - dropped.trailing_zeros());
        }
        self.recent = self.recent.checked_shl(elapsed).unwrap_or(0) | 1;
        self.last = tick;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn recorded_changes_match_a_full_list(gaps in proptest::collection::vec(1u32..90, 1..30), from in 1u32..1_500) {
            let mut changes = LastChanges::default();
            let mut ticks = Vec::new();
            for gap in gaps {
                ticks.push(ticks.last().unwrap_or(&0) + gap);
                changes.record(Tick(*ticks.last().unwrap()));
            }
            let before = ticks.len().checked_sub(2).map_or(0, |index| ticks[index]);
            prop_assert_eq!(changes.before(), Tick(before));
            let steady = changes.steady_until(Tick(from)).0;
            prop_assert!(steady >= from);
            prop_assert!(!ticks.iter().any(|&tick| tick > from && tick <= steady), "there is a change in between");
            let recent = changes.last.0.saturating_sub(63);
            if ticks.iter().all(|&tick| tick <= from || tick >= recent) {
                let next = ticks.iter().find(|&&tick| tick > from);
                prop_assert_eq!(steady, next.map_or(u32::MAX, |next| next - 1), "exact within the window");
            }
        }
    }
}
