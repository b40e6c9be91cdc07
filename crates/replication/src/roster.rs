//! The entities a client sees, and which version of each it has.

use crate::packet::SPACING_MAX;
use aether_space::{InterestChanges, SlotSet};
use aether_wire::Tick;

/// One client's entities. The arrays run parallel to the members of `visible`, in ascending order of slots.
#[derive(Debug, Default)]
pub struct ViewEntities {
    pub visible: SlotSet,
    /// The tick whose state the client is known to have; zero if none.
    pub base: Vec<Tick>,
    /// How many ticks before the baseline the one before it lay; zero if that was too long ago to tell of its motion.
    pub spacing: Vec<u8>,
    /// When the entity came into view.
    since: Vec<Tick>,
    /// How long something has been waiting, weighted.
    pub priority: Vec<f32>,
    /// The slots of which the client was told anything since they came into view, or of whose former entity it may still
    /// know.
    pub told: SlotSet,
}

impl ViewEntities {
    /// Notes that the client has the state of `tick` of some slots of a stretch, but for those that came into view later.
    pub fn acknowledge(&mut self, word: usize, slots: u64, tick: Tick) {
        let seen = self.visible.words().get(word).copied().unwrap_or(0);
        let before = self.visible.count_below(word as u32 * 64);
        let mut bits = slots & seen;
        while bits != 0 {
            let bit = bits & bits.wrapping_neg();
            bits ^= bit;
            let at = before + (seen & (bit - 1)).count_ones() as usize;
            let base = self.base[at];
            if base < tick && (base != Tick::ZERO || self.since[at] <= tick) {
                self.advance(at, tick);
            }
        }
    }

    /// Moves a baseline forward.
    #[inline]
    pub fn advance(&mut self, at: usize, tick: Tick) {
        let base = self.base[at];
        let spacing = tick.0 - base.0;
        self.spacing[at] = if base != Tick::ZERO && spacing <= SPACING_MAX { spacing as u8 } else { 0 };
        self.base[at] = tick;
    }

    /// Brings the arrays in step after the set was changed; `departed` gets the slots that the client may still know.
    pub fn adjust(&mut self, changes: &InterestChanges, tick: Tick, departed: impl FnMut(u32)) {
        self.visible.index();
        self.forget(changes, departed);
        self.admit(&changes.entered, tick);
        debug_assert_eq!(self.base.len(), self.visible.len());
    }

    fn forget(&mut self, changes: &InterestChanges, mut departed: impl FnMut(u32)) {
        let mut entered = 0;
        let mut kept = None;
        let mut next = 0;
        for (gone, &slot) in changes.left.iter().enumerate() {
            while changes.entered.get(entered).is_some_and(|&other| other < slot) {
                entered += 1;
            }
            // The position that it had before the change.
            let at = self.visible.count_below(slot) + gone - entered;
            if self.told.remove(slot) {
                departed(slot);
            }
            kept = Some(self.shift(kept.unwrap_or(at), next, at));
            next = at + 1;
        }
        if let Some(kept) = kept {
            let len = self.shift(kept, next, self.base.len());
            self.resize(len);
        }
    }

    /// Moves the entries `from..end` down to `to`, and tells where they end.
    fn shift(&mut self, to: usize, from: usize, end: usize) -> usize {
        if from == 0 {
            return to;
        }
        self.base.copy_within(from..end, to);
        self.spacing.copy_within(from..end, to);
        self.since.copy_within(from..end, to);
        self.priority.copy_within(from..end, to);
        to + end - from
    }

    fn admit(&mut self, entered: &[u32], tick: Tick) {
        let mut from = self.base.len();
        let mut to = from + entered.len();
        self.resize(to);
        // From the back, so that nothing is overwritten before it has moved.
        for &slot in entered.iter().rev() {
            let at = self.visible.count_below(slot);
            let moved = to - (at + 1);
            self.base.copy_within(from - moved..from, at + 1);
            self.spacing.copy_within(from - moved..from, at + 1);
            self.since.copy_within(from - moved..from, at + 1);
            self.priority.copy_within(from - moved..from, at + 1);
            (from, to) = (from - moved, at);
            self.base[at] = Tick::ZERO;
            self.spacing[at] = 0;
            self.since[at] = tick;
            self.priority[at] = 0.0;
        }
    }

    fn resize(&mut self, len: usize) {
        self.base.resize(len, Tick::ZERO);
        self.spacing.resize(len, 0);
        self.since.resize(len, Tick::ZERO);
        self.priority.resize(len, 0.0);
    }
}
