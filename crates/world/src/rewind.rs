//! Past positions of entities, for lag compensation.

use crate::positions::Positions;
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

    pub(crate) fn record(&mut self, tick: Tick, positions: &Positions, generation: impl Fn(u32) -> Option<u16>) {
        if self.ticks.is_empty() {
            return;
        }
        let reach = self.ticks.len() as u32 - 1;
        let first = self.range.map_or(tick, |(oldest, _)| oldest);
        self.range = Some((first.max(Tick(tick.0.saturating_sub(reach))), tick));
        let index = tick.0 as usize % self.ticks.len();
        let recorded = &mut self.ticks[index];
        recorded.tick = tick;
        recorded.positions.fill(None);
        for point in positions.points() {
            if point.slot as usize >= recorded.positions.len() {
                recorded.positions.resize(point.slot as usize + 1, None);
            }
            recorded.positions[point.slot as usize] =
                generation(point.slot).map(|generation| (generation, [point.x, point.y]));
        }
    }

    fn position_in(&self, id: EntityId, tick: Tick) -> Option<[f32; 2]> {
        let recorded = &self.ticks[tick.0 as usize % self.ticks.len()];
        let (generation, position) = (*recorded.positions.get(id.slot as usize)?)?;
        (recorded.tick == tick && generation == id.generation).then_some(position)
    }
}
