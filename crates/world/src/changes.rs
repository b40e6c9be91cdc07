//! When an entity changed.

use aether_wire::Tick;

/// When a slot's entity changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastChanges {
    /// The last change.
    pub last: Tick,
    /// The last change of those that lie before the recent ones.
    older: Tick,
    /// Bit `i` tells whether it changed `i` ticks before the last change.
    recent: u64,
}

impl LastChanges {
    /// The change before the last.
    #[inline]
    #[must_use]
    pub fn before(&self) -> Tick {
        match self.recent & !1 {
            0 => self.older,
            others => Tick(self.last.0 - others.trailing_zeros()),
        }
    }

    /// The last tick at which the state was still that of tick `from`, as far as is known.
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

    /// Notes a change at `tick`, which is not before the last one.
    pub(crate) fn note(&mut self, tick: Tick) {
        let elapsed = tick.0 - self.last.0;
        let forgotten = if elapsed == 0 { 0 } else { self.recent >> u64::BITS.saturating_sub(elapsed) };
        if forgotten != 0 {
            self.older = Tick(self.last.0 - u64::BITS.saturating_sub(elapsed) - forgotten.trailing_zeros());
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
        fn what_is_told_of_the_past_is_true(gaps in proptest::collection::vec(1u32..90, 1..30), from in 1u32..1_500) {
            let mut changes = LastChanges::default();
            let mut ticks = Vec::new();
            for gap in gaps {
                ticks.push(ticks.last().unwrap_or(&0) + gap);
                changes.note(Tick(*ticks.last().unwrap()));
            }
            let before = ticks.len().checked_sub(2).map_or(0, |index| ticks[index]);
            prop_assert_eq!(changes.before(), Tick(before));
            let steady = changes.steady_until(Tick(from)).0;
            prop_assert!(steady >= from);
            prop_assert!(!ticks.iter().any(|&tick| tick > from && tick <= steady), "a change in between is not steady");
            let recent = changes.last.0.saturating_sub(63);
            if ticks.iter().all(|&tick| tick <= from || tick >= recent) {
                let next = ticks.iter().find(|&&tick| tick > from);
                prop_assert_eq!(steady, next.map_or(u32::MAX, |next| next - 1), "within the window it is exact");
            }
        }
    }
}
