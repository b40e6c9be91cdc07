//! Capture of a world: its exact state as bytes, for a recording that begins while a room runs.
//!
//! ```text
//! capture = tick 32 · slots 32 · slot × … · points 32 · (slot 32 · x 32 · y 32 · third 32) × … · rewind
//! slot    = generation 16 · used 1 · (shape 32 · owner 1 + 32 · visibility 2 + 8 · component × …)
//! rewind  = known 1 · (oldest 32 · newest 32) · tick × …
//! tick    = count 32 · (slot 32 · generation 16 · x 32 · y 32) × … · thirds 32 · third 32 × …
//! ```
//! Components are packed as on the wire.

use super::{World, bits_of};
use crate::changes::LastChanges;
use crate::entities::Visibility;
use crate::positions::Positions;
use aether_bits::{BitReader, BitWriter, ReadError};
use aether_wire::limits::SLOTS_MAX;
use aether_wire::{EntityId, PlayerId, Tick};

impl World {
    /// Returns the exact state after a [`World::settle`]: entities under their ids, replicated fields, owners,
    /// visibilities and the history of positions. Fields that are not replicated are not in it.
    #[must_use]
    pub fn capture(&self) -> Vec<u8> {
        let mut writer = BitWriter::new();
        writer.write(self.tick.0.into(), 32);
        let slots = self.entities.slots();
        writer.write(slots.into(), 32);
        for slot in 0..slots {
            writer.write(self.entities.generation(slot).into(), 16);
            writer.write_bool(self.entities.alive.contains(slot));
            if self.entities.alive.contains(slot) {
                self.capture_slot(slot, &mut writer);
            }
        }
        // Queries visit the points in this order.
        writer.write(self.positions.points().len() as u64, 32);
        for point in self.positions.points() {
            writer.write(point.slot.into(), 32);
            for coordinate in [point.x, point.y, self.positions.third(point.slot)] {
                write_float(coordinate, &mut writer);
            }
        }
        self.rewind.capture(&mut writer);
        writer.to_bytes()
    }

    fn capture_slot(&self, slot: u32, writer: &mut BitWriter) {
        let shape = self.shape(slot);
        writer.write(shape.into(), 32);
        let owner = self.owner_at(slot);
        writer.write_bool(owner.is_some());
        writer.write(owner.map_or(0, |owner| owner.0).into(), 32);
        let (tag, team) = match self.visibility_at(slot) {
            Visibility::Everyone => (0, 0),
            Visibility::Owner => (1, 0),
            Visibility::Team(team) => (2, team),
            Visibility::Game => (3, 0),
        };
        writer.write(tag, 2);
        writer.write(team.into(), 8);
        for index in bits_of(shape) {
            self.columns[index].write_full(slot, writer);
        }
    }

    /// Restores a state from [`World::capture`] in a world without entities. Fields that are not replicated have their
    /// initial values.
    pub fn restore_capture(&mut self, bytes: &[u8]) -> Result<(), ReadError> {
        let reader = &mut BitReader::new(bytes);
        self.tick = Tick(reader.read(32)? as u32);
        self.restore_entities(reader)?;
        self.rewind.restore(reader)
    }

    /// Restores the entities of a [`World::capture`] in a world without entities that continues at another tick. They count as
    /// changed in its current tick. The history of positions is left out.
    pub fn restore_at_tick(&mut self, bytes: &[u8]) -> Result<(), ReadError> {
        let reader = &mut BitReader::new(bytes);
        reader.read(32)?;
        self.restore_entities(reader)
    }

    fn restore_entities(&mut self, reader: &mut BitReader<'_>) -> Result<(), ReadError> {
        let slots = reader.read(32)? as u32;
        if slots > SLOTS_MAX || slots as usize > reader.remaining() {
            return Err(ReadError::TooLong);
        }
        self.changes.resize(slots as usize, LastChanges::default());
        for slot in 0..slots {
            let generation = reader.read(16)? as u16;
            let is_used = reader.read_bool()?;
            self.entities.restore_slot(generation, is_used, self.tick);
            if is_used {
                self.restore_slot(EntityId { slot, generation }, reader)?;
            }
        }
        // Values count as settled. Positions follow in their order.
        for column in &mut self.columns {
            column.settle(self.tick, &mut self.changed, &mut Positions::default());
        }
        for _ in 0..reader.read(32)? {
            let slot = reader.read(32)? as u32;
            if slot >= slots {
                return Err(ReadError::OutOfRange);
            }
            let (x, y, third) = (read_float(reader)?, read_float(reader)?, read_float(reader)?);
            self.positions.set(slot, [x, y]);
            if third != 0.0 {
                self.positions.set_third(slot, third);
            }
        }
        self.query_index.clear();
        Ok(())
    }

    fn restore_slot(&mut self, id: EntityId, reader: &mut BitReader<'_>) -> Result<(), ReadError> {
        let shape = reader.read(32)? as u32;
        if u64::from(shape) >> self.columns.len() != 0 {
            return Err(ReadError::OutOfRange);
        }
        let has_owner = reader.read_bool()?;
        let owner = PlayerId(reader.read(32)? as u32);
        let (tag, team) = (reader.read(2)?, reader.read(8)? as u8);
        self.reshape(id.slot, shape);
        self.set_owner(id, has_owner.then_some(owner));
        self.set_visibility(
            id,
            match tag {
                0 => Visibility::Everyone,
                1 => Visibility::Owner,
                2 => Visibility::Team(team),
                _ => Visibility::Game,
            },
        );
        for index in bits_of(shape) {
            self.columns[index].read_full(id.slot, reader)?;
        }
        Ok(())
    }
}

pub(crate) fn write_float(value: f32, writer: &mut BitWriter) {
    writer.write(value.to_bits().into(), 32);
}

pub(crate) fn read_float(reader: &mut BitReader<'_>) -> Result<f32, ReadError> {
    Ok(f32::from_bits(reader.read(32)? as u32))
}
