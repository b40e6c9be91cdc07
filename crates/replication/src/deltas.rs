//! Differences, each encoded once and shared by all clients that have the same baseline.

use aether_bits::BitWriter;
use aether_wire::Tick;
use aether_world::{World, bits_of};

/// The encoded differences of one snapshot.
#[derive(Debug, Default)]
pub struct Deltas {
    tick: Tick,
    seconds_per_tick: f32,
    /// The encoded bits; every range begins at a word.
    arena: BitWriter,
    /// Per slot: the range that was asked for first. Most clients share it.
    heads: Vec<Head>,
    ranges: Vec<Range>,
    /// Per range and component: how many bits the component took.
    shares: Vec<u16>,
    components: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Head {
    tick: Tick,
    base: Tick,
    range: u32,
}

/// One encoded difference.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    base: Tick,
    word: u32,
    /// Zero when there is nothing to send.
    pub bits: u16,
    /// Whether it is a whole entity rather than a difference.
    pub full: bool,
    next: u32,
}

/// How many bits each component cost, over all clients of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// By component number.
    pub component_bits: Vec<u64>,
}

const NONE: u32 = u32::MAX;

impl Deltas {
    /// Forgets the last snapshot's ranges and begins those of the world's current tick.
    pub fn begin(&mut self, world: &World, seconds_per_tick: f32) {
        self.tick = world.tick();
        self.seconds_per_tick = seconds_per_tick;
        self.components = world.columns().len();
        self.arena.clear();
        self.ranges.clear();
        self.shares.clear();
    }

    /// The difference of a slot's entity from its state at tick `base` (everything, if that is zero): encoded now, unless
    /// it was asked for before.
    #[inline]
    pub fn range(&mut self, world: &World, slot: u32, base: Tick) -> u32 {
        match self.heads.get(slot as usize) {
            Some(head) if head.tick == self.tick => {
                if head.base == base {
                    return head.range;
                }
                let mut range = head.range;
                while range != NONE {
                    if self.ranges[range as usize].base == base {
                        return range;
                    }
                    range = self.ranges[range as usize].next;
                }
            }
            Some(_) => {}
            None => self.heads.resize(slot as usize + 1, Head::default()),
        }
        self.add(world, slot, base)
    }

    /// An encoded difference.
    #[inline]
    #[must_use]
    pub fn at(&self, range: u32) -> &Range {
        &self.ranges[range as usize]
    }

    /// How many differences were encoded for this snapshot.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether nothing was encoded for this snapshot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Appends an encoded difference.
    #[inline]
    pub fn append(&self, range: &Range, writer: &mut BitWriter) {
        writer.append(
            &self.arena.words()[range.word as usize..],
            u32::from(range.bits),
        );
    }

    /// Adds to `ledger` what the components cost, when range `i` was sent `uses[i]` times.
    pub fn charge(&self, uses: &[u32], ledger: &mut Ledger) {
        ledger.component_bits.resize(self.components, 0);
        for (range, &uses) in uses.iter().enumerate() {
            let shares = &self.shares[range * self.components..][..self.components];
            for (total, &share) in ledger.component_bits.iter_mut().zip(shares) {
                *total += u64::from(share) * u64::from(uses);
            }
        }
    }

    fn add(&mut self, world: &World, slot: u32, base: Tick) -> u32 {
        let word = self.arena.words().len() as u32;
        let share = self.shares.len();
        self.shares.resize(share + self.components, 0);
        let mut full = base == Tick::ZERO || world.shaped_at(slot) > base;
        if !full && !self.write_delta(world, slot, base, share) {
            self.arena.truncate_words(word as usize);
            self.shares[share..].fill(0);
            full = true;
        }
        if full {
            self.write_full(world, slot, share);
        }
        let bits = self.arena.bits() - word as usize * 64;
        self.arena.align();
        let index = self.ranges.len() as u32;
        let head = &mut self.heads[slot as usize];
        let mut next = NONE;
        if head.tick == self.tick {
            next = std::mem::replace(&mut self.ranges[head.range as usize].next, index);
        } else {
            *head = Head {
                tick: self.tick,
                base,
                range: index,
            };
        }
        self.ranges.push(Range {
            base,
            word,
            bits: bits as u16,
            full,
            next,
        });
        index
    }

    /// Appends the components that changed after `base`; false if the state at `base` is no longer known.
    fn write_delta(&mut self, world: &World, slot: u32, base: Tick, share: usize) -> bool {
        if world.changed_at(slot) <= base {
            return true;
        }
        let shape = world.shape(slot);
        let columns = world.columns();
        if shape.count_ones() > 1 {
            for index in bits_of(shape) {
                self.arena
                    .write_bool(columns[index].changed_after(slot, base));
            }
        }
        let elapsed_seconds = self.tick.since(base) as f32 * self.seconds_per_tick;
        for index in bits_of(shape) {
            if columns[index].changed_after(slot, base) {
                let before = self.arena.bits();
                if !columns[index].write_delta(slot, base, elapsed_seconds, &mut self.arena) {
                    return false;
                }
                self.shares[share + index] = (self.arena.bits() - before) as u16;
            }
        }
        true
    }

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
