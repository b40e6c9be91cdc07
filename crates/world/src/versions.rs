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

    /// Value at `base`, and unless `spacing` is zero the value that many ticks earlier; `None` if either is no longer
    /// stored.
    #[inline]
    pub fn at(&self, slot: u32, base: Tick, spacing: u32) -> Option<(&R, Option<&R>)> {
        let first = slot as usize * self.depth;
        let ticks = &self.ticks[first..first + self.depth];
        let values = &self.values[first..first + self.depth];
        let (index, left) = find(ticks, usize::from(self.newest[slot as usize]), self.depth, base)?;
        if spacing == 0 {
            return Some((&values[index], None));
        }
        let (earlier, _) = find(ticks, index, left, Tick(base.0.checked_sub(spacing)?))?;
        Some((&values[index], Some(&values[earlier])))
    }
}

/// Returns the index of the newest version that is not younger than `tick`, from `index` back over at most `left`
/// versions, and the number of versions that remain from there.
#[inline]
fn find(ticks: &[Tick], mut index: usize, mut left: usize, tick: Tick) -> Option<(usize, usize)> {
    while left > 0 {
        let found = *ticks.get(index)?;
        if found <= tick {
            return (found != Tick::ZERO).then_some((index, left));
        }
        index = if index == 0 { ticks.len() - 1 } else { index - 1 };
        left -= 1;
    }
    None
}
