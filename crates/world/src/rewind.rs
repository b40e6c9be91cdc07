//! Past positions of entities, for lag compensation.

use crate::positions::Positions;
use crate::query::LazyIndex;
use crate::world::{read_float, write_float};
use aether_bits::{BitReader, BitWriter, ReadError};
use aether_wire::limits::SLOTS_MAX;
use aether_wire::{EntityId, Tick};

/// Positions of all entities in the last ticks.
///
/// A player aims at entities as the client showed them, which is in the past. The game asks for the position of a
/// target at the tick that the player saw, interpolated as on that client.
#[derive(Debug, Default)]
pub struct Rewind {
    ticks: Vec<RecordedTick>,
    /// Oldest and newest recorded tick. Ticks are recorded without gaps.
    range: Option<(Tick, Tick)>,
}

#[derive(Debug, Default)]
struct RecordedTick {
    tick: Tick,
    /// Generation and position of the entity of each slot.
    positions: Vec<Option<(u16, [f32; 2])>>,
    /// Third coordinate of each slot. Empty in a world with two.
    third: Vec<f32>,
    /// Number of positions.
    count: usize,
    /// Index for queries about this tick.
    index: LazyIndex,
}

impl Rewind {
    /// A history of `ticks` ticks. Zero turns it off.
    pub(crate) fn new(ticks: u16) -> Self {
        Rewind { ticks: (0..ticks).map(|_| RecordedTick::default()).collect(), range: None }
    }

    /// Oldest and newest tick of the history.
    #[must_use]
    pub fn range(&self) -> Option<(Tick, Tick)> {
        self.range
    }

    /// Returns the position of an entity at `tick` plus a `fraction` of a tick. A tick outside the history counts as
    /// the nearest end, so a client gains nothing by a false tick. Returns `None` if the entity did not exist then.
    #[must_use]
    pub fn position_at(&self, id: EntityId, tick: Tick, fraction: f32) -> Option<[f32; 2]> {
        let (oldest, newest) = self.range()?;
        let tick = tick.clamp(oldest, newest);
        let before = self.position_in(id, tick)?;
        if tick == newest || !(0.0..=1.0).contains(&fraction) {
            return Some(before);
        }
        match self.position_in(id, tick.next()) {
            Some(after) => Some(std::array::from_fn(|axis| before[axis] + (after[axis] - before[axis]) * fraction)),
            None => Some(before),
        }
    }

    /// Returns the position of an entity in three dimensions; see [`Rewind::position_at`].
    #[must_use]
    pub fn position_3d_at(&self, id: EntityId, tick: Tick, fraction: f32) -> Option<[f32; 3]> {
        let (entity, position) = self.past(tick, fraction)?.0.at(id.slot)?;
        (entity == id).then_some(position)
    }

    pub(crate) fn record(&mut self, tick: Tick, positions: &Positions, generation: impl Fn(u32) -> Option<u16>) {
        if self.ticks.is_empty() {
            return;
        }
        let reach = self.ticks.len() as u32 - 1;
        let first = self.range.map_or(tick, |(oldest, _)| oldest);
        self.range = Some((first.max(Tick(tick.0.saturating_sub(reach))), tick));
        let length = self.ticks.len();
        // The index of the tick before was built without the way to this one.
        self.ticks[(tick.0 as usize + length - 1) % length].index.clear();
        let recorded = &mut self.ticks[tick.0 as usize % length];
        recorded.tick = tick;
        recorded.index.clear();
        recorded.count = positions.points().len();
        recorded.third.clear();
        recorded.third.extend_from_slice(positions.thirds());
        recorded.positions.fill(None);
        for point in positions.points() {
            if point.slot as usize >= recorded.positions.len() {
                recorded.positions.resize(point.slot as usize + 1, None);
            }
            recorded.positions[point.slot as usize] =
                generation(point.slot).map(|generation| (generation, [point.x, point.y]));
        }
    }

    /// Returns all positions at `tick` plus a `fraction` of a tick, and the index of that tick. Limits and interpolation
    /// are those of [`Rewind::position_at`].
    pub(crate) fn past(&self, tick: Tick, fraction: f32) -> Option<(PastPositions<'_>, &LazyIndex)> {
        let (oldest, newest) = self.range()?;
        let tick = tick.clamp(oldest, newest);
        let before = &self.ticks[tick.0 as usize % self.ticks.len()];
        let after = (tick != newest).then(|| &self.ticks[tick.next().0 as usize % self.ticks.len()]);
        let fraction = if (0.0..=1.0).contains(&fraction) { fraction } else { 0.0 };
        Some((PastPositions { before, after, fraction }, &before.index))
    }

    /// Appends the whole history.
    pub(crate) fn capture(&self, writer: &mut BitWriter) {
        writer.write_bool(self.range.is_some());
        let Some((oldest, newest)) = self.range else { return };
        writer.write(oldest.0.into(), 32);
        writer.write(newest.0.into(), 32);
        for tick in oldest.0..=newest.0 {
            let recorded = &self.ticks[tick as usize % self.ticks.len()];
            writer.write(recorded.positions.iter().flatten().count() as u64, 32);
            for (slot, entry) in recorded.positions.iter().enumerate() {
                let Some((generation, [x, y])) = *entry else { continue };
                writer.write(slot as u64, 32);
                writer.write(generation.into(), 16);
                write_float(x, writer);
                write_float(y, writer);
            }
            writer.write(recorded.third.len() as u64, 32);
            recorded.third.iter().for_each(|third| write_float(*third, writer));
        }
    }

    /// Reads a history from [`Rewind::capture`]. It must not be longer than this one.
    pub(crate) fn restore(&mut self, reader: &mut BitReader<'_>) -> Result<(), ReadError> {
        if !reader.read_bool()? {
            return Ok(());
        }
        let (oldest, newest) = (Tick(reader.read(32)? as u32), Tick(reader.read(32)? as u32));
        if newest < oldest || (newest.0 - oldest.0) as usize >= self.ticks.len() {
            return Err(ReadError::OutOfRange);
        }
        for tick in oldest.0..=newest.0 {
            let length = self.ticks.len();
            let recorded = &mut self.ticks[tick as usize % length];
            recorded.tick = Tick(tick);
            recorded.count = reader.read(32)? as usize;
            for _ in 0..recorded.count {
                let (slot, generation) = (reader.read(32)? as usize, reader.read(16)? as u16);
                if slot >= SLOTS_MAX as usize {
                    return Err(ReadError::OutOfRange);
                }
                if slot >= recorded.positions.len() {
                    recorded.positions.resize(slot + 1, None);
                }
                recorded.positions[slot] = Some((generation, [read_float(reader)?, read_float(reader)?]));
            }
            let thirds = reader.read(32)? as usize;
            if thirds > SLOTS_MAX as usize {
                return Err(ReadError::TooLong);
            }
            recorded.third = (0..thirds).map(|_| read_float(reader)).collect::<Result<_, _>>()?;
        }
        self.range = Some((oldest, newest));
        Ok(())
    }

    fn position_in(&self, id: EntityId, tick: Tick) -> Option<[f32; 2]> {
        let recorded = &self.ticks[tick.0 as usize % self.ticks.len()];
        let (generation, position) = (*recorded.positions.get(id.slot as usize)?)?;
        (recorded.tick == tick && generation == id.generation).then_some(position)
    }
}

/// Positions of all entities at one time in the past.
#[derive(Clone, Copy)]
pub(crate) struct PastPositions<'a> {
    before: &'a RecordedTick,
    /// The tick after it, unless that is the present one.
    after: Option<&'a RecordedTick>,
    fraction: f32,
}

impl<'a> PastPositions<'a> {
    /// Number of positions.
    pub fn len(&self) -> usize {
        self.before.count
    }

    /// Entity and position of a slot.
    #[inline]
    pub fn at(&self, slot: u32) -> Option<(EntityId, [f32; 3])> {
        let (generation, before) = self.before.entry(slot)?;
        let position = match self.next(slot, generation) {
            Some(after) if self.fraction > 0.0 => {
                std::array::from_fn(|axis| before[axis] + (after[axis] - before[axis]) * self.fraction)
            }
            _ => before,
        };
        Some((EntityId { slot, generation }, position))
    }

    /// All positions at the beginning of the tick, in slot order.
    pub fn iter(self) -> impl Iterator<Item = (u32, [f32; 3])> + Clone + 'a {
        let slots = 0..self.before.positions.len() as u32;
        slots.filter_map(move |slot| Some((slot, self.before.entry(slot)?.1)))
    }

    /// Way of a slot's entity until the next tick.
    pub fn step(&self, slot: u32) -> f32 {
        let Some((generation, before)) = self.before.entry(slot) else { return 0.0 };
        let Some(after) = self.next(slot, generation) else { return 0.0 };
        let way: [f32; 3] = std::array::from_fn(|axis| after[axis] - before[axis]);
        way.iter().map(|way| way * way).sum::<f32>().sqrt()
    }

    fn next(&self, slot: u32, generation: u16) -> Option<[f32; 3]> {
        let (next, after) = self.after?.entry(slot)?;
        (next == generation).then_some(after)
    }
}

impl RecordedTick {
    /// Generation and position of the entity of a slot.
    #[inline]
    fn entry(&self, slot: u32) -> Option<(u16, [f32; 3])> {
        let (generation, [x, y]) = (*self.positions.get(slot as usize)?)?;
        Some((generation, [x, y, self.third.get(slot as usize).copied().unwrap_or(0.0)]))
    }
}
