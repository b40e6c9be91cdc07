//! Which slots are in use, and by which entity.

use aether_space::SlotSet;
use aether_wire::limits::SLOTS_MAX;
use aether_wire::{EntityId, PlayerId, Tick};

/// Who may see an entity that is near enough to be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// Everyone.
    #[default]
    Everyone,
    /// Only the player that owns it.
    Owner,
    /// Only players of this team.
    Team(u8),
    /// Whoever the game says, asked per player and snapshot.
    Game,
}

/// What is known of every slot, apart from its components.
#[derive(Debug, Default)]
pub struct Entities {
    pub alive: SlotSet,
    /// Slots that can be used for the next entities, lowest first, so that the columns stay dense.
    free: SlotSet,
    /// Slots given back this tick. They rest until the next one, so that a tick has one entity per slot.
    resting: Vec<u32>,
    generations: Vec<u16>,
    pub shapes: Vec<u32>,
    /// When the set of components last changed; the spawn counts.
    pub shaped_at: Vec<Tick>,
    pub owners: Vec<Option<PlayerId>>,
    pub visibilities: Vec<Visibility>,
}

impl Entities {
    /// A new entity; none when all slots are in use.
    pub fn spawn(&mut self, tick: Tick) -> Option<EntityId> {
        let slot = match self.free.iter().next() {
            Some(slot) => {
                self.free.remove(slot);
                slot
            }
            None => self.add_slot()?,
        };
        self.alive.insert(slot);
        self.shapes[slot as usize] = 0;
        self.shaped_at[slot as usize] = tick;
        self.owners[slot as usize] = None;
        self.visibilities[slot as usize] = Visibility::Everyone;
        Some(EntityId { slot, generation: self.generations[slot as usize] })
    }

    /// Ends an entity; false if it had ended before.
    pub fn despawn(&mut self, id: EntityId) -> bool {
        if !self.contains(id) {
            return false;
        }
        self.alive.remove(id.slot);
        let generation = &mut self.generations[id.slot as usize];
        *generation = generation.wrapping_add(1);
        self.resting.push(id.slot);
        true
    }

    pub fn contains(&self, id: EntityId) -> bool {
        self.alive.contains(id.slot) && self.generations[id.slot as usize] == id.generation
    }

    /// The entity that uses a slot.
    pub fn at(&self, slot: u32) -> Option<EntityId> {
        let generation = *self.generations.get(slot as usize)?;
        self.alive.contains(slot).then_some(EntityId { slot, generation })
    }

    /// Lets the slots given back be used again.
    pub fn advance(&mut self) {
        for slot in self.resting.drain(..) {
            self.free.insert(slot);
        }
    }

    fn add_slot(&mut self) -> Option<u32> {
        let slot = self.generations.len() as u32;
        if slot >= SLOTS_MAX {
            return None;
        }
        self.generations.push(0);
        self.shapes.push(0);
        self.shaped_at.push(Tick::ZERO);
        self.owners.push(None);
        self.visibilities.push(Visibility::Everyone);
        Some(slot)
    }
}
