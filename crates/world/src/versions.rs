//! Recent values of a component, per slot.

use crate::packing::RowPacking;
use aether_wire::Tick;

/// The last versions of every slot's value, each with its first tick.
///
/// The versions of one slot are a ring in adjacent memory: the newest at `newest[slot]`, older ones before it.
#[derive(Debug)]
pub struct VersionRing<R> {
    depth: usize,
    newest: Vec<u8>,
    ticks: Vec<Tick>,
    values: Vec<R>,
}

impl<R: Clone> VersionRing<R> {
    pub fn new(depth: u8) -> Self {
        assert!(depth >= 2, "a ring of {depth} versions is too small; use at least 2");
        VersionRing { depth: usize::from(depth), newest: Vec::new(), ticks: Vec::new(), values: Vec::new() }
    }

    /// Allocates all slots below `slots`.
    pub fn grow(&mut self, slots: usize, packing: &impl RowPacking<Row = R>) {
        if slots > self.newest.len() {
            self.newest.resize(slots, 0);
            self.ticks.resize(slots * self.depth, Tick::ZERO);
            self.values.resize(slots * self.depth, packing.blank());
        }
    }

    /// Removes the versions of a slot.
    pub fn clear(&mut self, slot: u32) {
        let first = slot as usize * self.depth;
        self.ticks[first..first + self.depth].fill(Tick::ZERO);
    }

    /// Adds `value` as the version that is valid from `tick`.
    pub fn push(&mut self, slot: u32, tick: Tick, value: &R) {
        let newest = &mut self.newest[slot as usize];
        *newest = if usize::from(*newest) + 1 == self.depth { 0 } else { *newest + 1 };
        let at = slot as usize * self.depth + usize::from(*newest);
        self.ticks[at] = tick;
        self.values[at].clone_from(value);
    }

    /// Newest version of a slot.
    pub fn newest(&self, slot: u32) -> Option<(Tick, &R)> {
        let at = slot as usize * self.depth + usize::from(self.newest[slot as usize]);
        (self.ticks[at] != Tick::ZERO).then(|| (self.ticks[at], &self.values[at]))
    }

    /// Value at `tick`, if it is still stored.
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
