//! Which slots of a server's world a client has made room for.

use aether_wire::EntityId;

/// A set of slots that only grows. What a copy of the world holds for a slot stays when its entity goes, so slots are what
/// counts, and not entities.
#[derive(Clone, Debug, Default)]
pub(crate) struct GrowingSlotSet {
    words: Vec<u64>,
    count: usize,
}

impl GrowingSlotSet {
    /// Adds an entity's slot.
    pub fn add(&mut self, entity: EntityId) {
        let (word, bit) = (entity.slot as usize / 64, 1 << (entity.slot % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.count += usize::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    /// How many slots there are.
    pub fn len(&self) -> usize {
        self.count
    }
}
