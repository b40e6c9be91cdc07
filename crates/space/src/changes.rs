//! Changes of an interest set.

/// Changes of the set of visible slots in one update.
///
/// The lists are reused: each update clears them first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterestChanges {
    /// Slots that became visible, in ascending order.
    pub entered: Vec<u32>,
    /// Slots that are no longer visible, in ascending order.
    pub left: Vec<u32>,
}

impl InterestChanges {
    /// No changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// True if nothing changed.
    pub fn is_empty(&self) -> bool {
        self.entered.is_empty() && self.left.is_empty()
    }

    /// Removes all changes and retains the memory.
    pub fn clear(&mut self) {
        self.entered.clear();
        self.left.clear();
    }

    /// Appends the difference between two versions of one word of a set. Returns the number of gained members, modulo
    /// 2^32.
    #[inline]
    pub(crate) fn push_word(&mut self, word: usize, mut difference: u64, new: u64) -> u32 {
        let mut gained = 0u32;
        while difference != 0 {
            let bit = difference.trailing_zeros();
            difference &= difference - 1;
            let slot = word as u32 * u64::BITS + bit;
            let has_entered = (new >> bit & 1) as usize;
            // The slot is added to both lists and removed from one of them, without a branch.
            self.entered.push(slot);
            self.entered.truncate(self.entered.len() - 1 + has_entered);
            self.left.push(slot);
            self.left.truncate(self.left.len() - has_entered);
            gained = gained.wrapping_add(2 * has_entered as u32).wrapping_sub(1);
        }
        gained
    }
}
