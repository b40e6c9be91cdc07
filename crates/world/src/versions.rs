//! The recent values of a component, per slot.

use crate::packing::RowPacking;
use aether_wire::Tick;

/// The last few versions of every slot's value, each with the tick at which it began.
///
/// Versions of one slot lie side by side, newest at `newest[slot]`, older ones before it, going round.
#[derive(Debug)]
pub struct VersionRing<R> {
    depth: usize,
    newest: Vec<u8>,
    ticks: Vec<Tick>,
    values: Vec<R>,
}

impl<R: Clone> VersionRing<R> {
    pub fn new(depth: u8) -> Self {
        assert!(depth >= 2, "a change needs the value before it");
        VersionRing { depth: usize::from(depth), newest: Vec::new(), ticks: Vec::new(), values: Vec::new() }
    }

    /// Makes room for all slots below `slots`.
    pub fn grow(&mut self, slots: usize, packing: &impl RowPacking<Row = R>) {
        if slots > self.newest.len() {
            self.newest.resize(slots, 0);
            self.ticks.resize(slots * self.depth, Tick::ZERO);
            self.values.resize(slots * self.depth, packing.blank());
        }
    }

    /// Forgets a slot's versions.
    pub fn clear(&mut self, slot: u32) {
        let first = slot as usize * self.depth;
        self.ticks[first..first + self.depth].fill(Tick::ZERO);
    }

    /// Notes that `value` holds from `tick` on.
    pub fn push(&mut self, slot: u32, tick: Tick, value: &R) {
        let newest = &mut self.newest[slot as usize];
        *newest = if usize::from(*newest) + 1 == self.depth { 0 } else { *newest + 1 };
        let at = slot as usize * self.depth + usize::from(*newest);
        self.ticks[at] = tick;
        self.values[at].clone_from(value);
    }

    /// The newest version, if there is one.
    pub fn newest(&self, slot: u32) -> Option<(Tick, &R)> {
        let at = slot as usize * self.depth + usize::from(self.newest[slot as usize]);
        (self.ticks[at] != Tick::ZERO).then(|| (self.ticks[at], &self.values[at]))
    }

    /// The value that held at `tick`, if it is still known.
    pub fn at(&self, slot: u32, tick: Tick) -> Option<&R> {
        let first = slot as usize * self.depth;
        let mut index = usize::from(self.newest[slot as usize]);
        for _ in 0..self.depth {
            let at = first + index;
            if self.ticks[at] == Tick::ZERO {
                return None;
            }
            if self.ticks[at] <= tick {
                return Some(&self.values[at]);
            }
            index = if index == 0 { self.depth - 1 } else { index - 1 };
        }
        None
    }
}
