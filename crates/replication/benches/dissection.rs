//! Decodes state packets to measure the cost of each part.

use crate::packet::{DeltaSource, PacketHeader, read_slot};
use aether_bits::{BasisAges, BitReader, Component, DeltaBasis, ReadError};
use aether_wire::Tick;
use std::ops::AddAssign;

/// Past states on the server.
pub trait Past<C> {
    /// Returns the state of a slot at a tick.
    fn at(&self, tick: Tick, slot: u32) -> &C;
}

/// One entity's state in a packet.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub slot: u32,
    /// Tick of the baseline; zero if the full state was sent.
    pub base: Tick,
}

/// Bits of packets by purpose.
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    /// Headers and padding.
    pub context: usize,
    /// Slots.
    pub slots: usize,
    /// Sources.
    pub sources: usize,
    /// Deltas.
    pub updates: usize,
    /// Full states.
    pub wholes: usize,
}

impl Costs {
    pub fn total(&self) -> usize {
        self.context + self.slots + self.sources + self.updates + self.wholes
    }
}

impl AddAssign for Costs {
    fn add_assign(&mut self, other: Costs) {
        self.context += other.context;
        self.slots += other.slots;
        self.sources += other.sources;
        self.updates += other.updates;
        self.wholes += other.wholes;
    }
}

/// Reads a packet with entities that have only the component `C`. Its states must equal those of the server at its
/// tick.
pub fn dissect<C: Component>(
    bytes: &[u8],
    past: &impl Past<C>,
    seconds_per_tick: f32,
) -> Result<(Vec<Entry>, Costs), ReadError> {
    let mut reader = BitReader::new(bytes);
    let mut costs = Costs::default();
    let mut entries = Vec::new();
    let header = counted(&mut reader, &mut costs.context, PacketHeader::read)?;
    let [_, wholes, updates] = header.counts;
    let mut next = 0;
    for _ in 0..wholes {
        let slot = counted(&mut reader, &mut costs.slots, |reader| read_slot(next, header.gap_order, reader))?;
        let state = counted(&mut reader, &mut costs.wholes, read_whole::<C>)?;
        assert!(state.same(past.at(header.tick, slot)), "slot {slot} was sent as it is");
        entries.push(Entry { slot, base: Tick::ZERO });
        next = slot + 1;
    }
    next = 0;
    let mut source = DeltaSource::default();
    for _ in 0..updates {
        let slot = counted(&mut reader, &mut costs.slots, |reader| read_slot(next, header.gap_order, reader))?;
        source = counted(&mut reader, &mut costs.sources, |reader| DeltaSource::read(source, reader))?;
        let DeltaSource { age, spacing } = source;
        let base = Tick(header.tick.0 - age);
        let basis = DeltaBasis {
            value: past.at(base, slot),
            earlier: (spacing > 0).then(|| past.at(Tick(base.0 - spacing), slot)),
            ages: BasisAges { elapsed: age, spacing, seconds_per_tick },
        };
        let state = counted(&mut reader, &mut costs.updates, |reader| C::read_delta(basis, reader))?;
        assert!(state.same(past.at(header.tick, slot)), "slot {slot} was sent as it is");
        entries.push(Entry { slot, base });
        next = slot + 1;
    }
    costs.context += reader.remaining();
    Ok((entries, costs))
}

/// The generation and the mask of the one component come before the state itself.
fn read_whole<C: Component>(reader: &mut BitReader<'_>) -> Result<C, ReadError> {
    reader.read(16 + 1)?;
    C::read_full(reader)
}

fn counted<'a, T>(
    reader: &mut BitReader<'a>,
    cost: &mut usize,
    read: impl FnOnce(&mut BitReader<'a>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let start = reader.position();
    let value = read(reader)?;
    *cost += reader.position() - start;
    Ok(value)
}
