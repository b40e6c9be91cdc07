//! Slots, and the entities that use them.

use aether_space::SlotSet;
use aether_wire::limits::SLOTS_MAX;
use aether_wire::{EntityId, PlayerId, Tick};

/// Players that see an entity within the interest distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// Everyone.
    #[default]
    Everyone,
    /// The owner only.
    Owner,
    /// Players of this team only.
    Team(u8),
    /// The game decides, for each player and snapshot.
    Game,
}

/// State of every slot, except its components.
#[derive(Debug, Default)]
pub struct Entities {
    pub alive: SlotSet,
    /// Free slots. The lowest is used first, so that the columns stay dense.
    free: SlotSet,
    /// Slots freed in this tick. They become free in the next one, so that a slot has one entity per tick.
    freed: Vec<u32>,
    generations: Vec<u16>,
    pub shapes: Vec<u32>,
    /// Tick of the last change of the set of components, the spawn included.
    pub shaped_at: Vec<Tick>,
    pub owners: Vec<Option<PlayerId>>,
    pub visibilities: Vec<Visibility>,
}

impl Entities {
    /// Spawns an entity. Returns `None` if all slots are in use.
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

    /// Despawns an entity. Returns false if it does not exist.
    pub fn despawn(&mut self, id: EntityId) -> bool {
        if !self.contains(id) {
            return false;
        }
        self.alive.remove(id.slot);
        let generation = &mut self.generations[id.slot as usize];
        *generation = generation.wrapping_add(1);
        self.freed.push(id.slot);
        true
    }

    pub fn contains(&self, id: EntityId) -> bool {
        self.alive.contains(id.slot) && self.generations[id.slot as usize] == id.generation
    }

    /// Entity that uses a slot.
    pub fn at(&self, slot: u32) -> Option<EntityId> {
        let generation = *self.generations.get(slot as usize)?;
        self.alive.contains(slot).then_some(EntityId { slot, generation })
    }

    /// Number of slots, used or free.
    pub fn slots(&self) -> u32 {
        self.generations.len() as u32
    }

    /// Generation of the entity of a slot, or of its next one.
    pub fn generation(&self, slot: u32) -> u16 {
        self.generations[slot as usize]
    }

    /// Adds a slot of a captured world. A free one can be used at once.
    pub fn restore_slot(&mut self, generation: u16, is_used: bool, tick: Tick) {
        let Some(slot) = self.add_slot() else { return };
        self.generations[slot as usize] = generation;
        self.shaped_at[slot as usize] = tick;
        if is_used {
            self.alive.insert(slot);
        } else {
            self.free.insert(slot);
        }
    }

    /// Makes the slots freed in the last tick available.
    pub fn advance(&mut self) {
        for slot in self.freed.drain(..) {
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
