//! Values of one component, by slot.

use crate::packing::{DescribedPacking, RowPacking, TypedPacking};
use crate::positions::Positions;
use crate::versions::VersionRing;
use aether_bits::runtime::{RecordMut, RecordType};
use aether_bits::{BasisAges, BitReader, BitWriter, DeltaBasis, ReadError, RecordSchema};
use aether_space::SlotSet;
use aether_wire::Tick;
use std::any::Any;

/// Values of one component.
pub struct ComponentRows<P: RowPacking> {
    packing: P,
    present: SlotSet,
    /// Slots written since the last `settle`.
    written: SlotSet,
    values: Vec<P::Row>,
    versions: VersionRing<P::Row>,
}

/// Values of one component type.
pub type Column<C> = ComponentRows<TypedPacking<C>>;

/// Values of a component that was declared at run time.
pub type DescribedColumn = ComponentRows<DescribedPacking>;

/// A column of any component type.
pub trait AnyColumn: Any + Send + Sync {
    /// Descriptor of the component.
    fn schema(&self) -> RecordSchema;

    /// Snaps written values, and adds the slots whose encoded value changed to `changed`.
    fn settle(&mut self, tick: Tick, changed: &mut SlotSet, positions: &mut Positions);

    /// Removes the component from a slot.
    fn remove(&mut self, slot: u32);

    /// True if the component holds the position of its entity.
    fn has_position(&self) -> bool;

    /// Position of the entity, if the slot has this component and the component holds it.
    fn position(&self, slot: u32) -> Option<[f32; 2]>;

    /// Third coordinate of that position, if it has one.
    fn third_coordinate(&self, slot: u32) -> Option<f32>;

    /// True if the value changed after `tick`.
    fn changed_after(&self, slot: u32, tick: Tick) -> bool;

    /// Appends the whole value.
    fn write_full(&self, slot: u32, writer: &mut BitWriter);

    /// Reads a whole value into a slot. Fields that are not replicated have their initial values.
    fn read_full(&mut self, slot: u32, reader: &mut BitReader<'_>) -> Result<(), ReadError>;

    /// Appends the difference from the value at tick `base` and, unless `ages.spacing` is zero, the value that many
    /// ticks earlier. Returns false if either is no longer stored.
    fn write_delta(&self, slot: u32, base: Tick, ages: BasisAges, writer: &mut BitWriter) -> bool;

    /// Returns a hash of the value, equal on every platform. `scratch` is overwritten.
    fn digest(&self, slot: u32, scratch: &mut BitWriter) -> u64;

    /// For downcasts to the type.
    fn as_any(&self) -> &dyn Any;

    /// For downcasts to the type, mutable.
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

    /// Value of a slot.
    #[inline]
    #[must_use]
    pub fn get(&self, slot: u32) -> Option<&P::Row> {
        if self.present.contains(slot) { self.values.get(slot as usize) } else { None }
    }

    /// Mutable value of a slot. The slot counts as written.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut P::Row> {
        if !self.present.contains(slot) {
            return None;
        }
        self.written.insert(slot);
        self.values.get_mut(slot as usize)
    }

    /// Slots that have this component.
    #[must_use]
    pub fn present(&self) -> &SlotSet {
        &self.present
    }

    /// All values, in slot order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &P::Row)> {
        self.present.iter().map(|slot| (slot, &self.values[slot as usize]))
    }

    /// Calls `visit` with every value. All slots count as written.
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
    /// Type of the records.
    #[must_use]
    pub fn record_type(&self) -> &RecordType {
        &self.packing.0
    }

    /// Mutable record of a slot. The slot counts as written.
    pub fn record_mut(&mut self, slot: u32) -> Option<RecordMut<'_>> {
        if !self.present.contains(slot) {
            return None;
        }
        self.written.insert(slot);
        let record = self.values.get_mut(slot as usize)?;
        Some(self.packing.0.edit(record))
    }

    /// Calls `visit` with every record. All slots count as written.
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
                if let Some(third) = self.packing.third_coordinate(value) {
                    positions.set_third(slot, third);
                }
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

    fn third_coordinate(&self, slot: u32) -> Option<f32> {
        self.packing.third_coordinate(self.get(slot)?)
    }

    fn changed_after(&self, slot: u32, tick: Tick) -> bool {
        self.versions.newest(slot).is_some_and(|(newest, _)| newest > tick)
    }

    fn write_full(&self, slot: u32, writer: &mut BitWriter) {
        self.packing.write_full(&self.values[slot as usize], writer);
    }

    fn read_full(&mut self, slot: u32, reader: &mut BitReader<'_>) -> Result<(), ReadError> {
        let value = self.packing.read_full(reader)?;
        self.insert(slot, value);
        Ok(())
    }

    fn write_delta(&self, slot: u32, base: Tick, ages: BasisAges, writer: &mut BitWriter) -> bool {
        let Some((value, earlier)) = self.versions.at(slot, base, ages.spacing) else { return false };
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
