//! [`ViewEntities`]: the entities that a client sees, and the version of each that it has.

use crate::deltas::DeltaKey;
use crate::gather::remove_lowest;
use crate::packet::SPACING_MAX;
use aether_space::{InterestChanges, SlotSet};
use aether_wire::Tick;

/// Visible slots per word of 64, on average, from which clients may share them.
const CROWDED_MIN: usize = 4;

/// Entities of one client. The arrays are parallel to the members of `visible`, in ascending order of slots.
#[derive(Debug, Default)]
pub struct ViewEntities {
    pub visible: SlotSet,
    /// Tick of the baseline: the state that the client has; zero if none. With the ticks from there back to the baseline
    /// before it; zero if that is too long ago to predict motion.
    pub keys: Vec<DeltaKey>,
    /// Tick at which the entity entered.
    since: Vec<Tick>,
    /// Accumulated urgency of what waits.
    pub priority: Vec<f32>,
    /// Slots of which anything was sent since they entered, or whose former entity the client may still have.
    pub announced: SlotSet,
}

impl ViewEntities {
    /// True if so many slots of a word are visible that blocks of them may be shared.
    pub fn is_crowded(&self) -> bool {
        self.visible.len() >= CROWDED_MIN * self.visible.occupied_len()
    }

    /// Sets the baseline of some slots of a word to `tick`, except for entities that entered later.
    pub fn acknowledge(&mut self, word: usize, slots: u64, tick: Tick) {
        let Some(&seen) = self.visible.words().get(word) else { return };
        let before = self.visible.count_below(word as u32 * 64);
        let keys = &mut self.keys[before..][..seen.count_ones() as usize];
        let mut bits = slots & seen;
        while bits != 0 {
            let at = (seen & remove_lowest(&mut bits)).count_ones() as usize;
            let base = keys[at].base().0;
            // One comparison for a baseline that is neither zero nor later.
            if base.wrapping_sub(1) < tick.0.wrapping_sub(1) {
                let spacing = tick.0 - base;
                keys[at] = DeltaKey::new(tick, if spacing <= SPACING_MAX { spacing as u8 } else { 0 });
            } else if base == 0 && self.since[before + at] <= tick {
                keys[at] = DeltaKey::new(tick, 0);
            }
        }
    }

    /// Returns access to the baselines, to advance some of them to `tick`.
    #[inline]
    pub fn advance_to(&mut self, tick: Tick) -> AdvancingKeys<'_> {
        AdvancingKeys::new(&mut self.keys, tick)
    }

    /// Advances the baselines of some slots of a word to `tick`. The client sees all of them.
    pub fn advance_word(&mut self, word: u32, slots: u64, tick: Tick) {
        let mut keys = AdvancingKeys::new(&mut self.keys, tick);
        each_index(&self.visible, word, slots, |at| keys.advance(at));
    }

    /// Removes the urgency of some slots of a word. The client sees all of them.
    pub fn clear_priorities(&mut self, word: u32, slots: u64) {
        each_index(&self.visible, word, slots, |at| self.priority[at] = 0.0);
    }

    /// Updates the arrays after the set has changed. `departed` receives the slots that the client may still have.
    pub fn apply_changes(&mut self, changes: &InterestChanges, tick: Tick, departed: impl FnMut(u32)) {
        self.visible.index();
        self.remove_left(changes, departed);
        self.insert_entered(&changes.entered, tick);
        debug_assert_eq!(self.keys.len(), self.visible.len());
    }

    fn remove_left(&mut self, changes: &InterestChanges, mut departed: impl FnMut(u32)) {
        let mut entered = 0;
        let mut kept_end = None;
        let mut next = 0;
        for (gone, &slot) in changes.left.iter().enumerate() {
            while changes.entered.get(entered).is_some_and(|&other| other < slot) {
                entered += 1;
            }
            // Index before the change.
            let at = self.visible.count_below(slot) + gone - entered;
            if self.announced.remove(slot) {
                departed(slot);
            }
            kept_end = Some(self.shift(kept_end.unwrap_or(at), next, at));
            next = at + 1;
        }
        if let Some(kept_end) = kept_end {
            let len = self.shift(kept_end, next, self.keys.len());
            self.resize(len);
        }
    }

    /// Moves the entries `from..end` down to `to`. Returns their new end.
    fn shift(&mut self, to: usize, from: usize, end: usize) -> usize {
        if from == 0 {
            return to;
        }
        self.keys.copy_within(from..end, to);
        self.since.copy_within(from..end, to);
        self.priority.copy_within(from..end, to);
        to + end - from
    }

    fn insert_entered(&mut self, entered: &[u32], tick: Tick) {
        let mut from = self.keys.len();
        let mut to = from + entered.len();
        self.resize(to);
        // Backwards, so that no entry is overwritten before it has moved.
        for &slot in entered.iter().rev() {
            let at = self.visible.count_below(slot);
            let moved = to - (at + 1);
            self.keys.copy_within(from - moved..from, at + 1);
            self.since.copy_within(from - moved..from, at + 1);
            self.priority.copy_within(from - moved..from, at + 1);
            (from, to) = (from - moved, at);
            self.keys[at] = DeltaKey::default();
            self.since[at] = tick;
            self.priority[at] = 0.0;
        }
    }

    fn resize(&mut self, len: usize) {
        self.keys.resize(len, DeltaKey::default());
        self.since.resize(len, Tick::ZERO);
        self.priority.resize(len, 0.0);
    }
}

/// Calls `visit` with the index of each of some slots of a word. All of them must be visible.
#[inline(always)]
fn each_index(visible: &SlotSet, word: u32, slots: u64, mut visit: impl FnMut(usize)) {
    let seen = visible.words()[word as usize];
    let before = visible.count_below(word * 64);
    if slots == seen {
        return (before..before + seen.count_ones() as usize).for_each(visit);
    }
    let mut bits = slots;
    while bits != 0 {
        visit(before + (seen & remove_lowest(&mut bits)).count_ones() as usize);
    }
}

/// Baselines that advance to a tick.
pub struct AdvancingKeys<'a> {
    keys: &'a mut [DeltaKey],
    /// A key of that tick.
    advanced: DeltaKey,
    /// Oldest baseline from which motion is predicted. Zero, which is none, is before it.
    oldest: u32,
}

impl<'a> AdvancingKeys<'a> {
    #[inline]
    fn new(keys: &'a mut [DeltaKey], tick: Tick) -> Self {
        let oldest = tick.0.saturating_sub(SPACING_MAX).max(1);
        AdvancingKeys { keys, advanced: DeltaKey::new(tick, 0), oldest }
    }

    /// Advances a baseline.
    #[inline]
    pub fn advance(&mut self, at: usize) {
        let key = &mut self.keys[at];
        let base = key.base().0;
        let spacing = self.advanced.base().0 - base;
        *key = self.advanced.with_spacing(if base >= self.oldest { spacing as u8 } else { 0 });
    }
}
