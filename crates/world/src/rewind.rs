//! Where entities were, for lag compensation.

use crate::positions::Positions;
use aether_wire::{EntityId, Tick};

/// The places of all entities over the last ticks.
///
/// A player shoots at what it saw, and it saw the past. The game asks where a target was at the tick that the player
/// was seeing, interpolated as the player's own client did.
#[derive(Debug, Default)]
pub struct Rewind {
    frames: Vec<Frame>,
    /// The oldest tick and the newest; ticks are recorded one after the other.
    range: Option<(Tick, Tick)>,
}

#[derive(Debug, Default)]
struct Frame {
    tick: Tick,
    /// Per slot: who was there, and where.
    positions: Vec<Option<(u16, [f32; 2])>>,
}

impl Rewind {
    /// A history of so many ticks; none if zero.
    pub(crate) fn new(ticks: u16) -> Self {
        Rewind { frames: (0..ticks).map(|_| Frame::default()).collect(), range: None }
    }

    /// The oldest tick that can still be asked for, and the newest.
    #[must_use]
    pub fn range(&self) -> Option<(Tick, Tick)> {
        self.range
    }

    /// Where an entity was at `tick` plus a `fraction` of one. What lies outside the history counts as its nearest end,
    /// so a client that names an absurd time gains nothing; an entity that was not there then gives `None`.
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
        if self.frames.is_empty() {
            return;
        }
        let reach = self.frames.len() as u32 - 1;
        let first = self.range.map_or(tick, |(oldest, _)| oldest);
        self.range = Some((first.max(Tick(tick.0.saturating_sub(reach))), tick));
        let index = tick.0 as usize % self.frames.len();
        let frame = &mut self.frames[index];
        frame.tick = tick;
        frame.positions.fill(None);
        for point in positions.points() {
            if point.slot as usize >= frame.positions.len() {
                frame.positions.resize(point.slot as usize + 1, None);
            }
            frame.positions[point.slot as usize] =
                generation(point.slot).map(|generation| (generation, [point.x, point.y]));
        }
    }

    fn position_in(&self, id: EntityId, tick: Tick) -> Option<[f32; 2]> {
        let frame = &self.frames[tick.0 as usize % self.frames.len()];
        let (generation, position) = (*frame.positions.get(id.slot as usize)?)?;
        (frame.tick == tick && generation == id.generation).then_some(position)
    }
}
