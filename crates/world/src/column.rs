//! One component type's values, by slot.

use crate::places::Places;
use crate::versions::Versions;
use aether_bits::{Ages, Basis, BitWriter, Component, RecordSchema};
use aether_space::SlotSet;
use aether_wire::Tick;
use std::any::Any;

/// The values of one component type.
#[derive(Debug)]
pub struct Column<C> {
    present: SlotSet,
    /// Slots that were written since the last settling.
    written: SlotSet,
    values: Vec<C>,
    versions: Versions<C>,
}

/// A column whose type is not known here.
pub trait AnyColumn: Any + Send + Sync {
    /// The component's descriptor.
    fn schema(&self) -> RecordSchema;

    /// Snaps what was written, and adds the slots whose value really changed to `changed`.
    fn settle(&mut self, tick: Tick, changed: &mut SlotSet, places: &mut Places);

    /// Takes the component off a slot.
    fn remove(&mut self, slot: u32);

    /// Where the entity is, if this component is on the slot and says so.
    fn place(&self, slot: u32) -> Option<[f32; 2]>;

    /// Whether the value changed after `tick`.
    fn changed_after(&self, slot: u32, tick: Tick) -> bool;

    /// Appends the whole value.
    fn write_full(&self, slot: u32, writer: &mut BitWriter);

    /// Appends the difference from the value at tick `base`, and the one `ages.spacing` ticks earlier if that is not zero;
    /// false if either is no longer known.
    fn write_delta(&self, slot: u32, base: Tick, ages: Ages, writer: &mut BitWriter) -> bool;

    /// A hash of the value, the same on every platform. `scratch` is overwritten.
    fn digest(&self, slot: u32, scratch: &mut BitWriter) -> u64;

    /// For getting back to the type.
    fn as_any(&self) -> &dyn Any;

    /// For getting back to the type.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<C: Component> Column<C> {
    pub(crate) fn new(versions: u8) -> Self {
        Column {
            present: SlotSet::new(),
            written: SlotSet::new(),
            values: Vec::new(),
            versions: Versions::new(versions),
        }
    }

    /// The value of a slot.
    #[inline]
    #[must_use]
    pub fn get(&self, slot: u32) -> Option<&C> {
        if self.present.contains(slot) { self.values.get(slot as usize) } else { None }
    }

    /// The value of a slot, to be written.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut C> {
        if !self.present.contains(slot) {
            return None;
        }
        self.written.insert(slot);
        self.values.get_mut(slot as usize)
    }

    /// The slots that have this component.
    #[must_use]
    pub fn present(&self) -> &SlotSet {
        &self.present
    }

    /// All values in the order of their slots.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &C)> {
        self.present.iter().map(|slot| (slot, &self.values[slot as usize]))
    }

    /// Hands every value to `visit`, to be written.
    pub fn each_mut(&mut self, mut visit: impl FnMut(u32, &mut C)) {
        self.written.union_with(&self.present);
        for slot in self.present.iter() {
            visit(slot, &mut self.values[slot as usize]);
        }
    }

    pub(crate) fn insert(&mut self, slot: u32, value: C) {
        let slots = slot as usize + 1;
        if slots > self.values.len() {
            self.values.resize(slots, C::initial());
            self.versions.grow(slots);
        }
        if self.present.insert(slot) {
            self.versions.clear(slot);
        }
        self.written.insert(slot);
        self.values[slot as usize] = value;
    }
}

impl<C: Component> AnyColumn for Column<C> {
    fn schema(&self) -> RecordSchema {
        RecordSchema::of::<C>()
    }

    fn settle(&mut self, tick: Tick, changed: &mut SlotSet, places: &mut Places) {
        for slot in self.written.iter() {
            let value = &mut self.values[slot as usize];
            value.snap();
            if self.versions.newest(slot).is_some_and(|(_, before)| before.same(value)) {
                continue;
            }
            self.versions.push(slot, tick, value);
            changed.insert(slot);
            if C::PLACED
                && let Some(place) = value.place()
            {
                places.set(slot, place);
            }
        }
        self.written.clear();
    }

    fn remove(&mut self, slot: u32) {
        self.present.remove(slot);
        self.written.remove(slot);
    }

    fn place(&self, slot: u32) -> Option<[f32; 2]> {
        self.get(slot)?.place()
    }

    fn changed_after(&self, slot: u32, tick: Tick) -> bool {
        self.versions.newest(slot).is_some_and(|(newest, _)| newest > tick)
    }

    fn write_full(&self, slot: u32, writer: &mut BitWriter) {
        self.values[slot as usize].write_full(writer);
    }

    fn write_delta(&self, slot: u32, base: Tick, ages: Ages, writer: &mut BitWriter) -> bool {
        let Some(value) = self.versions.at(slot, base) else { return false };
        let mut earlier = None;
        if ages.spacing > 0 {
            earlier = base.0.checked_sub(ages.spacing).and_then(|tick| self.versions.at(slot, Tick(tick)));
            if earlier.is_none() {
                return false;
            }
        }
        self.values[slot as usize].write_delta(Basis { value, earlier, ages }, writer);
        true
    }

    fn digest(&self, slot: u32, scratch: &mut BitWriter) -> u64 {
        self.values[slot as usize].digest(scratch)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
