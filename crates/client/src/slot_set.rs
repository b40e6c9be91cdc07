//! Set of world slots that the client has allocated.

use aether_wire::EntityId;

/// Set of slots that only grows. A mirror keeps its memory for a slot after the entity leaves, so the limit counts
/// slots instead of entities.
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

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.count
    }
}
