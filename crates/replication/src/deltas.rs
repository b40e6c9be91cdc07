//! [`DeltaCache`]: encodes each delta once for all clients with the same baseline.

use crate::blocks::Blocks;
use crate::gather::GatherBuffer;
use crate::packet::DeltaSource;
use aether_bits::{BasisAges, BitWriter};
use aether_wire::Tick;
use aether_world::{World, bits_of};

/// Encoded deltas of one snapshot.
#[derive(Debug, Default)]
pub struct DeltaCache {
    tick: Tick,
    /// Number of the snapshot. Entries with an older number are invalid.
    round: u32,
    seconds_per_tick: f32,
    /// Encoded bits. Every range begins at a word.
    arena: BitWriter,
    /// Per slot: the range that was requested first. Most clients share it.
    heads: Vec<Head>,
    ranges: Vec<Range>,
    /// Per range and component: bits of the component.
    shares: Vec<u16>,
    components: usize,
    /// Blocks of 64 slots that several clients share.
    pub(crate) blocks: Blocks,
    /// Scratch memory of [`DeltaCache::encode_ahead`].
    pub(crate) wanted: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Head {
    round: u32,
    key: DeltaKey,
    found: FoundDelta,
}

/// States from which a delta is made: the tick of the baseline, zero for none, and the ticks from there back to the
/// state from which motion is predicted. They are one number, so that one comparison finds whether two keys are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeltaKey(u64);

impl DeltaKey {
    #[inline]
    pub fn new(base: Tick, spacing: u8) -> Self {
        DeltaKey(u64::from(base.0) << 8 | u64::from(spacing))
    }

    #[inline]
    pub fn base(self) -> Tick {
        Tick((self.0 >> 8) as u32)
    }

    #[inline]
    pub fn spacing(self) -> u8 {
        self.0 as u8
    }

    /// Returns `code` of `bits` bits with the code of this source after it, and the length of both. The packet is of
    /// tick `now`, and `previous` the source of the update before.
    #[inline(always)]
    pub fn code_after(self, (code, bits): (u64, u32), previous: DeltaKey, now: Tick) -> (u64, u32) {
        if self == previous {
            // The code is a zero.
            return (code, bits + 1);
        }
        let source = DeltaSource { age: now.0 - self.base().0, spacing: u32::from(self.spacing()) };
        let (own, own_bits) = source.code();
        (code | own << bits, bits + own_bits)
    }

    /// Returns the key with the same baseline and another spacing.
    #[inline]
    pub fn with_spacing(self, spacing: u8) -> Self {
        DeltaKey(self.0 & !0xff | u64::from(spacing))
    }
}

/// An encoded delta, as gathering needs it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FoundDelta {
    /// Index of the range.
    pub range: u32,
    /// Length in bits; zero if there is nothing to send.
    pub bits: u16,
    /// True if it is a full entity instead of a delta.
    pub full: bool,
    /// Spacing that was used; zero also if the state before the baseline is no longer known.
    pub spacing: u8,
    /// First 64 bits, which are often all of it.
    pub start: u64,
}

/// Location of an encoded delta.
#[derive(Clone, Copy, Debug)]
struct Range {
    key: DeltaKey,
    found: FoundDelta,
    word: u32,
    /// Next delta of the same slot.
    next: u32,
}

/// Bits of each component, over all clients of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComponentBits {
    /// Bits by component index.
    pub bits: Vec<u64>,
}

const NONE: u32 = u32::MAX;

impl DeltaCache {
    /// Clears the cache for a snapshot of the world's current tick.
    pub fn begin(&mut self, world: &World, seconds_per_tick: f32) {
        self.tick = world.tick();
        self.round = self.round.checked_add(1).unwrap_or_else(|| {
            self.heads.clear();
            1
        });
        self.seconds_per_tick = seconds_per_tick;
        self.components = world.columns().len();
        self.arena.clear();
        self.ranges.clear();
        self.shares.clear();
        self.blocks.begin(self.tick, self.round);
    }

    /// Replaces the deltas with those of another cache, without its blocks, and retains the memory. Threads that serve
    /// clients at the same time each start from a copy of the deltas that were encoded ahead.
    pub fn copy_from(&mut self, other: &DeltaCache) {
        (self.tick, self.round) = (other.tick, other.round);
        (self.seconds_per_tick, self.components) = (other.seconds_per_tick, other.components);
        self.arena.copy_from(&other.arena);
        self.heads.clone_from(&other.heads);
        self.ranges.clone_from(&other.ranges);
        self.shares.clone_from(&other.shares);
        self.blocks.begin(self.tick, self.round);
    }

    /// Returns the delta of a slot's entity from `key`, or the full entity if there is no baseline. Encodes it if no
    /// client requested it before.
    #[inline(always)]
    pub(crate) fn find(&mut self, world: &World, slot: u32, key: DeltaKey) -> FoundDelta {
        match self.heads.get(slot as usize) {
            Some(head) if head.round == self.round && head.key == key => head.found,
            _ => self.find_other(world, slot, key),
        }
    }

    /// Returns the number of deltas encoded for this snapshot.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns true if nothing was encoded for this snapshot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the words that begin with an encoded delta.
    #[inline]
    pub(crate) fn words(&self, found: FoundDelta) -> &[u64] {
        &self.arena.words()[self.ranges[found.range as usize].word as usize..]
    }

    /// Adds the bits sent since [`GatherBuffer::begin`] to `component_bits`. Returns the number of updates.
    pub fn count_bits(&self, gathered: &mut GatherBuffer, component_bits: &mut ComponentBits) -> u64 {
        for (number, &uses) in gathered.block_uses.iter().enumerate() {
            for member in self.blocks.members(self.blocks.at(number as u32)) {
                gathered.uses[member.found.range as usize] += uses;
            }
        }
        gathered.block_uses.clear();
        component_bits.bits.resize(self.components, 0);
        let mut updates = 0;
        if let [total] = component_bits.bits.as_mut_slice() {
            for (&uses, &share) in gathered.uses.iter().zip(&self.shares) {
                updates += u64::from(uses);
                *total += u64::from(share) * u64::from(uses);
            }
            return updates;
        }
        for (range, &uses) in gathered.uses.iter().enumerate() {
            updates += u64::from(uses);
            let shares = &self.shares[range * self.components..][..self.components];
            for (total, &share) in component_bits.bits.iter_mut().zip(shares) {
                *total += u64::from(share) * u64::from(uses);
            }
        }
        updates
    }

    /// Finds a delta that is not the first of its slot. Without a call inside, it needs no stack.
    #[inline(never)]
    fn find_other(&mut self, world: &World, slot: u32, key: DeltaKey) -> FoundDelta {
        let mut previous = NONE;
        if let Some(head) = self.heads.get(slot as usize)
            && head.round == self.round
        {
            let mut next = head.found.range;
            while let Some(range) = self.ranges.get(next as usize) {
                if range.key == key {
                    return range.found;
                }
                (previous, next) = (next, range.next);
            }
        }
        self.encode(world, slot, key, previous)
    }

    /// Encodes a delta, and links it to the `previous` one of its slot, if any.
    #[inline(never)]
    fn encode(&mut self, world: &World, slot: u32, key: DeltaKey, previous: u32) -> FoundDelta {
        let found = self.add(world, slot, key);
        if let Some(previous) = self.ranges.get_mut(previous as usize) {
            previous.next = found.range;
            return found;
        }
        if slot as usize >= self.heads.len() {
            self.heads.resize(slot as usize + 1, Head::default());
        }
        self.heads[slot as usize] = Head { round: self.round, key, found };
        found
    }

    #[inline(always)]
    fn add(&mut self, world: &World, slot: u32, key: DeltaKey) -> FoundDelta {
        let word = self.arena.words().len();
        let share = self.shares.len();
        for _ in 0..self.components {
            self.shares.push(0);
        }
        let mut spacing = key.spacing();
        let mut full = key.base() == Tick::ZERO || world.shaped_at(slot) > key.base();
        if !full && !self.write_delta(world, slot, key, share) {
            self.undo(word, share);
            spacing = 0;
            full = key.spacing() == 0 || !self.write_unpredicted(world, slot, key, share);
        }
        if full {
            self.undo(word, share);
            self.write_full(world, slot, share);
        }
        let bits = (self.arena.bits() - word * 64) as u16;
        self.arena.align();
        let start = self.arena.words().get(word).copied().unwrap_or(0);
        let found = FoundDelta { range: self.ranges.len() as u32, bits, full, spacing, start };
        self.ranges.push(Range { key, found, word: word as u32, next: NONE });
        found
    }

    fn undo(&mut self, word: usize, share: usize) {
        self.arena.truncate_words(word);
        self.shares[share..].fill(0);
    }

    /// Appends the delta without a prediction of motion. Returns false if the baseline is no longer known.
    #[cold]
    fn write_unpredicted(&mut self, world: &World, slot: u32, key: DeltaKey, share: usize) -> bool {
        self.write_delta(world, slot, key.with_spacing(0), share)
    }

    /// Appends the components that changed after the baseline. Returns false if a required state is no longer known.
    #[inline(always)]
    fn write_delta(&mut self, world: &World, slot: u32, key: DeltaKey, share: usize) -> bool {
        let base = key.base();
        if world.changed_at(slot) <= base {
            return true;
        }
        let shape = world.shape(slot);
        let columns = world.columns();
        let elapsed = self.tick.since(base);
        let ages = BasisAges { elapsed, spacing: u32::from(key.spacing()), seconds_per_tick: self.seconds_per_tick };
        if shape.is_power_of_two() {
            // The set of components is the same as at the baseline, so it is this component that changed.
            let (index, before) = (shape.trailing_zeros() as usize, self.arena.bits());
            let is_known = columns[index].write_delta(slot, base, ages, &mut self.arena);
            self.shares[share + index] = (self.arena.bits() - before) as u16;
            return is_known;
        }
        self.write_changed(world, slot, (base, ages), share)
    }

    /// Appends those of several components that changed after tick `base`.
    #[inline(never)]
    fn write_changed(&mut self, world: &World, slot: u32, (base, ages): (Tick, BasisAges), share: usize) -> bool {
        let (shape, columns) = (world.shape(slot), world.columns());
        for index in bits_of(shape) {
            self.arena.write_bool(columns[index].changed_after(slot, base));
        }
        for index in bits_of(shape) {
            if columns[index].changed_after(slot, base) {
                let before = self.arena.bits();
                if !columns[index].write_delta(slot, base, ages, &mut self.arena) {
                    return false;
                }
                self.shares[share + index] = (self.arena.bits() - before) as u16;
            }
        }
        true
    }

    #[inline(never)]
    fn write_full(&mut self, world: &World, slot: u32, share: usize) {
        let generation = world.entity_at(slot).map_or(0, |id| id.generation);
        let shape = world.shape(slot);
        self.arena.write(u64::from(generation), 16);
        self.arena.write(u64::from(shape), self.components as u32);
        for index in bits_of(shape) {
            let before = self.arena.bits();
            world.columns()[index].write_full(slot, &mut self.arena);
            self.shares[share + index] = (self.arena.bits() - before) as u16;
        }
    }
}
