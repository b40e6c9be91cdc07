//! [`Mirror`]: the client's copy of the entities that it sees.

use crate::DeliveryOrder;
use crate::packet::{self, BASELINE_AGE_MAX, DeltaSource, PacketHeader, SPACING_MAX};
use crate::replica::{DescribedReplica, ReplicaCells, ReplicaColumn, TypedReplica};
use aether_bits::{BasisAges, BitReader, BitWriter, Component, FieldKind, ReadError, Schema, SchemaValue};
use aether_wire::{EntityId, InputSeq, PacketSeq, StateAck, Tick};
use aether_world::{bits_of, hash_entity};

/// Copy of the entities that a client sees, updated by state packets.
pub struct Mirror {
    columns: Vec<Box<dyn ReplicaColumn>>,
    seconds_per_tick: f32,
    /// Versions stored per entity. Every version begins at another tick, so this number reaches back to the newest one
    /// at or before any tick that a source may name.
    depth: usize,
    /// Per slot: index of its replica plus one; zero if none.
    replica_of: Vec<u32>,
    replicas: Vec<Replica>,
    /// Per replica, `depth` ticks: the version in each cell.
    ticks: Vec<Tick>,
    /// Per cell: bits of the components that the version has.
    shapes: Vec<u32>,
    tick: Tick,
    input_ack: InputSeq,
    received: StateAck,
    entered: Vec<EntityId>,
    updated: Vec<EntityId>,
    left: Vec<EntityId>,
}

/// Declares the components of a mirror.
#[derive(Default)]
pub struct MirrorBuilder {
    columns: Vec<Box<dyn ReplicaColumn>>,
}

/// Result of [`Mirror::apply`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppliedPacket {
    /// Tick of the state.
    pub tick: Tick,
    /// Sequence number of the packet.
    pub sequence: PacketSeq,
    /// Last input of this client that the state includes.
    pub input_ack: InputSeq,
    /// True for the last packet of its snapshot.
    pub last: bool,
    /// True if the packet was too old to be applied. It is not acknowledged.
    pub stale: bool,
}

#[derive(Clone, Copy, Debug)]
struct Replica {
    id: EntityId,
    shape: u32,
    /// Tick of the newest state, or of the removal.
    tick: Tick,
    /// First of its cells; none until a state arrives.
    first_cell: Option<usize>,
    /// Cell of the newest state.
    cell: usize,
    alive: bool,
}

impl MirrorBuilder {
    /// Adds a component type. The order must be that of the server's world.
    #[must_use]
    pub fn component<C: Component>(mut self) -> Self {
        self.columns.push(Box::new(TypedReplica::<C> { values: Vec::new() }));
        self
    }

    /// Adds all components of a schema, without their types.
    #[must_use]
    pub fn described(mut self, schema: &Schema) -> Self {
        for component in &schema.components {
            self.columns.push(Box::new(DescribedReplica { kind: component.kind.clone(), values: Vec::new() }));
        }
        self
    }

    /// Builds an empty mirror.
    #[must_use]
    pub fn build(self, order: DeliveryOrder, seconds_per_tick: f32) -> Mirror {
        Mirror {
            columns: self.columns,
            seconds_per_tick,
            depth: if order == DeliveryOrder::Ordered {
                SPACING_MAX as usize + 1
            } else {
                BASELINE_AGE_MAX as usize + 1
            },
            replica_of: Vec::new(),
            replicas: Vec::new(),
            ticks: Vec::new(),
            shapes: Vec::new(),
            tick: Tick::ZERO,
            input_ack: InputSeq(0),
            received: StateAck::NONE,
            entered: Vec::new(),
            updated: Vec::new(),
            left: Vec::new(),
        }
    }
}

impl Mirror {
    /// Returns a builder for a mirror.
    #[must_use]
    pub fn builder() -> MirrorBuilder {
        MirrorBuilder::default()
    }

    /// Applies a state packet. A packet that cannot be read is not acknowledged. With unordered delivery, a very late
    /// packet may be made from a state that is no longer stored ([`ReadError::NoBaseline`]): drop it and continue.
    pub fn apply(&mut self, bytes: &[u8]) -> Result<AppliedPacket, ReadError> {
        self.entered.clear();
        self.updated.clear();
        self.left.clear();
        let mut reader = BitReader::new(bytes);
        let header = PacketHeader::read(&mut reader)?;
        let sequence = PacketSeq(packet::expand(header.sequence, self.received.latest().0));
        let input_ack = InputSeq(packet::expand(header.input_ack, self.input_ack.0));
        let stale = self.tick.since(header.tick) > BASELINE_AGE_MAX || header.tick == Tick::ZERO;
        let applied = AppliedPacket { tick: header.tick, sequence, input_ack, last: header.last, stale };
        if applied.stale {
            return Ok(applied);
        }
        let [removed, full, update] = header.counts;
        self.read_removed(&header, removed, &mut reader)?;
        self.read_full(&header, full, &mut reader)?;
        self.read_updates(&header, update, &mut reader)?;
        if header.tick >= self.tick {
            self.tick = header.tick;
            self.input_ack = self.input_ack.max(input_ack);
        }
        self.received.record(sequence);
        Ok(applied)
    }

    /// Returns the newest tick of which anything arrived.
    #[must_use]
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Returns the last input of this client that the state includes.
    #[must_use]
    pub fn input_ack(&self) -> InputSeq {
        self.input_ack
    }

    /// Returns the acknowledgement to send: the packets that arrived.
    #[must_use]
    pub fn acknowledgement(&self) -> StateAck {
        self.received
    }

    /// Returns the entities that entered with the last packet.
    #[must_use]
    pub fn entered(&self) -> &[EntityId] {
        &self.entered
    }

    /// Returns the entities that were updated by the last packet, without those that entered.
    #[must_use]
    pub fn updated(&self) -> &[EntityId] {
        &self.updated
    }

    /// Returns the entities that left with the last packet.
    #[must_use]
    pub fn left(&self) -> &[EntityId] {
        &self.left
    }

    /// Returns all entities in view.
    pub fn entities(&self) -> impl Iterator<Item = EntityId> {
        self.replicas.iter().filter(|replica| replica.alive).map(|replica| replica.id)
    }

    /// Returns true if an entity is in view.
    #[must_use]
    pub fn contains(&self, id: EntityId) -> bool {
        self.find(id).is_some()
    }

    /// Returns a component of an entity in view. Returns none also if the mirror was built without that type.
    #[must_use]
    pub fn get<C: Component>(&self, id: EntityId) -> Option<&C> {
        let replica = self.find(id)?;
        let cell = replica.cell;
        bits_of(replica.shape).find_map(|index| {
            let column = self.columns[index].as_any().downcast_ref::<TypedReplica<C>>()?;
            column.values.get(cell)
        })
    }

    /// Returns a component of an entity in view by index, where only its descriptor is known.
    #[must_use]
    pub fn value(&self, id: EntityId, component: usize) -> Option<(&FieldKind, &SchemaValue)> {
        let replica = self.find(id)?;
        let column = self.columns.get(component)?.as_any().downcast_ref::<DescribedReplica>()?;
        if replica.shape >> component & 1 == 0 {
            return None;
        }
        Some((&column.kind, column.values.get(replica.cell)?))
    }

    /// Returns a hash of all entities in view, equal to the server's over the same entities.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut scratch = BitWriter::new();
        self.replicas.iter().filter(|replica| replica.alive).fold(0, |sum: u64, replica| {
            let digests = bits_of(replica.shape).map(|index| self.columns[index].digest(replica.cell, &mut scratch));
            sum.wrapping_add(hash_entity(replica.id, replica.shape, digests))
        })
    }

    fn read_removed(&mut self, header: &PacketHeader, count: u32, reader: &mut BitReader<'_>) -> Result<(), ReadError> {
        let mut next = 0;
        for _ in 0..count {
            let slot = packet::read_slot(next, header.gap_order, reader)?;
            next = slot + 1;
            let number = self.number(slot);
            let replica = &mut self.replicas[number];
            if replica.tick < header.tick {
                replica.tick = header.tick;
                if std::mem::replace(&mut replica.alive, false) {
                    self.left.push(replica.id);
                }
            }
        }
        Ok(())
    }

    fn read_full(&mut self, header: &PacketHeader, count: u32, reader: &mut BitReader<'_>) -> Result<(), ReadError> {
        let mut next = 0;
        for _ in 0..count {
            let slot = packet::read_slot(next, header.gap_order, reader)?;
            next = slot + 1;
            let generation = reader.read(16)? as u16;
            let shape = reader.read(self.columns.len() as u32)? as u32;
            let number = self.number(slot);
            let cell = self.cell_for(number, header.tick);
            // If the packet turns out to be unreadable, no partial version is left.
            self.ticks[cell] = Tick::ZERO;
            for index in bits_of(shape) {
                self.columns[index].read_full(cell, reader)?;
            }
            self.ticks[cell] = header.tick;
            self.shapes[cell] = shape;
            let replica = &mut self.replicas[number];
            if replica.tick < header.tick {
                let id = EntityId { slot, generation };
                if replica.alive && replica.id != id {
                    self.left.push(replica.id);
                }
                if !replica.alive || replica.id != id {
                    self.entered.push(id);
                } else {
                    self.updated.push(id);
                }
                *replica = Replica { id, shape, tick: header.tick, cell, alive: true, ..*replica };
            }
        }
        Ok(())
    }

    fn read_updates(&mut self, header: &PacketHeader, count: u32, reader: &mut BitReader<'_>) -> Result<(), ReadError> {
        let mut next = 0;
        let mut source = DeltaSource::default();
        for _ in 0..count {
            let slot = packet::read_slot(next, header.gap_order, reader)?;
            next = slot + 1;
            source = DeltaSource::read(source, reader)?;
            let number = self.number(slot);
            let cells = self.cells(number, source, header.tick)?;
            self.read_update(number, cells, header.tick, reader)?;
        }
        Ok(())
    }

    /// Returns the cells of the states that an update is made from.
    fn cells(
        &self,
        number: usize,
        DeltaSource { age, spacing }: DeltaSource,
        tick: Tick,
    ) -> Result<ReplicaCells, ReadError> {
        let at = |age: u32| {
            let tick = Tick(tick.0.checked_sub(age)?);
            self.newest_at(number, tick)
        };
        if age == 0 {
            return Err(ReadError::NoBaseline);
        }
        let base = at(age).ok_or(ReadError::NoBaseline)?;
        let mut earlier = None;
        if spacing > 0 {
            earlier = Some(at(age + spacing).ok_or(ReadError::NoBaseline)?);
        }
        Ok(ReplicaCells {
            base,
            earlier,
            ages: BasisAges { elapsed: age, spacing, seconds_per_tick: self.seconds_per_tick },
        })
    }

    fn read_update(
        &mut self,
        number: usize,
        cells: ReplicaCells,
        tick: Tick,
        reader: &mut BitReader<'_>,
    ) -> Result<(), ReadError> {
        let to = self.cell_for(number, tick);
        let shape = self.shapes[cells.base];
        let mut changed = shape;
        if shape.count_ones() > 1 {
            for index in bits_of(shape) {
                if !reader.read_bool()? {
                    changed &= !(1 << index);
                }
            }
        }
        if cells.earlier.is_some_and(|cell| changed & !self.shapes[cell] != 0) {
            return Err(ReadError::NoBaseline);
        }
        self.ticks[to] = Tick::ZERO;
        for index in bits_of(shape) {
            if changed >> index & 1 == 1 {
                self.columns[index].read_delta(cells, to, reader)?;
            } else {
                self.columns[index].copy(cells.base, to);
            }
        }
        self.ticks[to] = tick;
        self.shapes[to] = shape;
        let replica = &mut self.replicas[number];
        if replica.tick < tick && replica.alive {
            (replica.tick, replica.cell) = (tick, to);
            self.updated.push(replica.id);
        }
        Ok(())
    }

    fn find(&self, id: EntityId) -> Option<&Replica> {
        let number = (*self.replica_of.get(id.slot as usize)?).checked_sub(1)? as usize;
        let replica = &self.replicas[number];
        (replica.alive && replica.id == id).then_some(replica)
    }

    /// Returns the index of a slot's replica. Adds one if there is none.
    fn number(&mut self, slot: u32) -> usize {
        if slot as usize >= self.replica_of.len() {
            self.replica_of.resize(slot as usize + 1, 0);
        }
        let known = &mut self.replica_of[slot as usize];
        if *known == 0 {
            let id = EntityId { slot, generation: 0 };
            self.replicas.push(Replica { id, shape: 0, tick: Tick::ZERO, first_cell: None, cell: 0, alive: false });
            *known = self.replicas.len() as u32;
        }
        *known as usize - 1
    }

    /// Returns the cell of a replica's newest version at or before a tick.
    fn newest_at(&self, number: usize, tick: Tick) -> Option<usize> {
        let first = self.replicas[number].first_cell?;
        let cells = first..first + self.depth;
        let cell = cells.filter(|&cell| self.ticks[cell] <= tick).max_by_key(|&cell| self.ticks[cell])?;
        (self.ticks[cell] != Tick::ZERO).then_some(cell)
    }

    fn add_cells(&mut self, number: usize) -> usize {
        let first = self.ticks.len();
        let cells = first + self.depth;
        self.ticks.resize(cells, Tick::ZERO);
        self.shapes.resize(cells, 0);
        for column in &mut self.columns {
            column.grow(cells);
        }
        self.replicas[number].first_cell = Some(first);
        first
    }

    /// Returns the cell for a version of a replica: the one that has the tick already, or the oldest.
    fn cell_for(&mut self, number: usize, tick: Tick) -> usize {
        let first = match self.replicas[number].first_cell {
            Some(first) => first,
            None => self.add_cells(number),
        };
        let ticks = &self.ticks[first..first + self.depth];
        let mut oldest = 0;
        for (cell, &here) in ticks.iter().enumerate() {
            if here == tick {
                return first + cell;
            }
            if here < ticks[oldest] {
                oldest = cell;
            }
        }
        first + oldest
    }
}
