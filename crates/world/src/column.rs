//! One component's values, by slot.

use crate::packing::{DescribedPacking, RowPacking, TypedPacking};
use crate::positions::Positions;
use crate::versions::VersionRing;
use aether_bits::runtime::{RecordMut, RecordType};
use aether_bits::{BasisAges, BitWriter, DeltaBasis, RecordSchema};
use aether_space::SlotSet;
use aether_wire::Tick;
use std::any::Any;

/// The values of one component.
pub struct ComponentRows<P: RowPacking> {
    packing: P,
    present: SlotSet,
    /// Slots that were written since the last settling.
    written: SlotSet,
    values: Vec<P::Row>,
    versions: VersionRing<P::Row>,
}

/// The values of one component type.
pub type Column<C> = ComponentRows<TypedPacking<C>>;

/// The values of a component that was declared at run time.
pub type DescribedColumn = ComponentRows<DescribedPacking>;

/// A column whose type is not known here.
pub trait AnyColumn: Any + Send + Sync {
    /// The component's descriptor.
    fn schema(&self) -> RecordSchema;

    /// Snaps what was written, and adds the slots whose value really changed to `changed`.
    fn settle(&mut self, tick: Tick, changed: &mut SlotSet, positions: &mut Positions);

    /// Takes the component off a slot.
    fn remove(&mut self, slot: u32);

    /// True if the component says where its entity is.
    fn has_position(&self) -> bool;

    /// Where the entity is, if this component is on the slot and says so.
    fn position(&self, slot: u32) -> Option<[f32; 2]>;

    /// Whether the value changed after `tick`.
    fn changed_after(&self, slot: u32, tick: Tick) -> bool;

    /// Appends the whole value.
    fn write_full(&self, slot: u32, writer: &mut BitWriter);

    /// Appends the difference from the value at tick `base`, and the one `ages.spacing` ticks earlier if that is not zero;
    /// false if either is no longer known.
    fn write_delta(&self, slot: u32, base: Tick, ages: BasisAges, writer: &mut BitWriter) -> bool;

    /// A hash of the value, the same on every platform. `scratch` is overwritten.
    fn digest(&self, slot: u32, scratch: &mut BitWriter) -> u64;

    /// For getting back to the type.
    fn as_any(&self) -> &dyn Any;

    /// For getting back to the type.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

impl<P: RowPacking> ComponentRows<P> {
    pub(crate) fn new(packing: P, versions: u8) -> Self {
        ComponentRows {
            packing,
            present: SlotSet::new(),
            written: SlotSet::new(),
            values: Vec::new(),
            versions: VersionRing::new(versions),
        }
    }

    /// The value of a slot.
    #[inline]
    #[must_use]
    pub fn get(&self, slot: u32) -> Option<&P::Row> {
        if self.present.contains(slot) { self.values.get(slot as usize) } else { None }
    }

    /// The value of a slot, to be written.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut P::Row> {
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
    pub fn iter(&self) -> impl Iterator<Item = (u32, &P::Row)> {
        self.present.iter().map(|slot| (slot, &self.values[slot as usize]))
    }

    /// Hands every value to `visit`, to be written.
    pub fn each_mut(&mut self, mut visit: impl FnMut(u32, &mut P::Row)) {
        self.written.union_with(&self.present);
        for slot in self.present.iter() {
            visit(slot, &mut self.values[slot as usize]);
        }
    }

    pub(crate) fn insert(&mut self, slot: u32, value: P::Row) {
        let slots = slot as usize + 1;
        if slots > self.values.len() {
            self.values.resize(slots, self.packing.initial());
            self.versions.grow(slots, &self.packing);
        }
        if self.present.insert(slot) {
            self.versions.clear(slot);
        }
        self.written.insert(slot);
        self.values[slot as usize] = value;
    }
}

impl DescribedColumn {
    /// The type of the records.
    #[must_use]
    pub fn record_type(&self) -> &RecordType {
        &self.packing.0
    }

    /// The record of a slot, to be written.
    pub fn record_mut(&mut self, slot: u32) -> Option<RecordMut<'_>> {
        if !self.present.contains(slot) {
            return None;
        }
        self.written.insert(slot);
        let record = self.values.get_mut(slot as usize)?;
        Some(self.packing.0.edit(record))
    }

    /// Hands every record to `visit`, to be written.
    pub(crate) fn each_record_mut(&mut self, mut visit: impl FnMut(u32, RecordMut<'_>)) {
        self.written.union_with(&self.present);
        for slot in self.present.iter() {
            visit(slot, self.packing.0.edit(&mut self.values[slot as usize]));
        }
    }
}

impl<P: RowPacking> AnyColumn for ComponentRows<P> {
    fn schema(&self) -> RecordSchema {
        self.packing.schema()
    }

    fn settle(&mut self, tick: Tick, changed: &mut SlotSet, positions: &mut Positions) {
        for slot in self.written.iter() {
            let value = &mut self.values[slot as usize];
            self.packing.snap(value);
            if self.versions.newest(slot).is_some_and(|(_, before)| self.packing.same(before, value)) {
                continue;
            }
            self.versions.push(slot, tick, value);
            changed.insert(slot);
            if self.packing.has_position()
                && let Some(position) = self.packing.position(value)
            {
                positions.set(slot, position);
            }
        }
        self.written.clear();
    }

    fn remove(&mut self, slot: u32) {
        self.present.remove(slot);
        self.written.remove(slot);
    }

    fn has_position(&self) -> bool {
        self.packing.has_position()
    }

    fn position(&self, slot: u32) -> Option<[f32; 2]> {
        self.packing.position(self.get(slot)?)
    }

    fn changed_after(&self, slot: u32, tick: Tick) -> bool {
        self.versions.newest(slot).is_some_and(|(newest, _)| newest > tick)
    }

    fn write_full(&self, slot: u32, writer: &mut BitWriter) {
        self.packing.write_full(&self.values[slot as usize], writer);
    }

    fn write_delta(&self, slot: u32, base: Tick, ages: BasisAges, writer: &mut BitWriter) -> bool {
        let Some(value) = self.versions.at(slot, base) else { return false };
        let mut earlier = None;
        if ages.spacing > 0 {
            earlier = base.0.checked_sub(ages.spacing).and_then(|tick| self.versions.at(slot, Tick(tick)));
            if earlier.is_none() {
                return false;
            }
        }
        self.packing.write_delta(DeltaBasis { value, earlier, ages }, &self.values[slot as usize], writer);
        true
    }

    fn digest(&self, slot: u32, scratch: &mut BitWriter) -> u64 {
        self.packing.digest(&self.values[slot as usize], scratch)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
