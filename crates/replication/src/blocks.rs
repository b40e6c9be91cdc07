//! Blocks: runs of encoded deltas of some hundred slots that several clients share.
//!
//! Clients that see the same crowd need the same deltas of the same entities in the same order. The first client that
//! needs a group of slots stores its bits here; the others copy them as one run instead of entity by entity. The bytes
//! are the same either way.

use crate::deltas::{DeltaCache, DeltaKey};
use crate::gather::{DueEntity, SlotWord, remove_lowest};
use crate::packet;
use aether_bits::BitWriter;
use aether_wire::Tick;

/// Words of 64 slots in a group. Larger groups cost less per entity, but fit the rest of a packet less often.
pub(crate) const GROUP_WORDS: u32 = 4;
/// Minimum number of due entities of a group that is shared.
pub(crate) const DUE_MIN: u32 = 4;
/// Maximum number of blocks of one group. Further clients with other requests are served entity by entity.
const FORMS_MAX: u32 = 8;

/// Slots of a group: a word of 64 bits for each of its words.
pub(crate) type GroupSlots = [u64; GROUP_WORDS as usize];

/// Shared blocks of one snapshot.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    tick: Tick,
    round: u32,
    /// Per group: the round in which it was last used, its first block and the number of blocks.
    heads: Vec<(u32, u32, u32)>,
    blocks: Vec<Block>,
    members: Vec<DueEntity>,
    /// Per member: the baseline that the client has. Clients with the same baselines need the same bits.
    keys: Vec<DeltaKey>,
    /// Bits of all members except the first, whose lead depends on what precedes it.
    runs: BitWriter,
}

/// The encoded updates of one group for one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// Slots of the group that are due.
    pub due: GroupSlots,
    received: Tick,
    gap_order: u32,
    first: u32,
    pub len: u32,
    run_word: u32,
    run_bits: u32,
    /// First entity, whose lead depends on what precedes it.
    pub start: DueEntity,
    /// Slot after the last entity.
    pub end: u32,
    /// States from which the last update is made.
    pub end_source: DeltaKey,
    /// Bits in a packet, without the lead of the first entity.
    pub bits: usize,
    /// Bits that its entities count against the budget.
    pub cost: usize,
    next: u32,
}

/// Updates of a group that a client needs.
#[derive(Clone, Copy)]
pub(crate) struct BlockRequest<'a> {
    /// Words of the group in which anything is due.
    words: &'a [SlotWord],
    due: GroupSlots,
    /// Baselines of all entities that the client sees.
    keys: &'a [DeltaKey],
    received: Tick,
    gap_order: u32,
}

const NONE: u32 = u32::MAX;

impl<'a> BlockRequest<'a> {
    /// Returns the request for words of the same group, at least one.
    pub fn new(words: &'a [SlotWord], keys: &'a [DeltaKey], received: Tick, gap_order: u32) -> Self {
        let mut due = GroupSlots::default();
        for word in words {
            due[(word.word % GROUP_WORDS) as usize] = word.due;
        }
        BlockRequest { words, due, keys, received, gap_order }
    }

    fn group(&self) -> usize {
        (self.words[0].word / GROUP_WORDS) as usize
    }
}

impl Blocks {
    pub fn begin(&mut self, tick: Tick, round: u32) {
        if round <= self.round {
            self.heads.clear();
        }
        (self.tick, self.round) = (tick, round);
        self.blocks.clear();
        self.members.clear();
        self.keys.clear();
        self.runs.clear();
    }

    /// Returns the number of a block that matches the request.
    pub fn find(&self, request: &BlockRequest<'_>) -> Option<u32> {
        let &(round, mut number, _) = self.heads.get(request.group())?;
        if round != self.round {
            return None;
        }
        while number != NONE {
            let block = &self.blocks[number as usize];
            if self.matches(block, request) {
                return Some(number);
            }
            number = block.next;
        }
        None
    }

    /// Adds a block for the due entities of a request, if all of them are updates.
    pub fn add(&mut self, request: &BlockRequest<'_>, due: &[DueEntity], deltas: &DeltaCache) {
        let group = request.group();
        if group >= self.heads.len() {
            self.heads.resize(group + 1, (0, NONE, 0));
        }
        let (round, next, forms) = self.heads[group];
        let (next, forms) = if round == self.round { (next, forms) } else { (NONE, 0) };
        let count: u32 = request.due.iter().map(|slots| slots.count_ones()).sum();
        let (Some(start), Some(end)) = (due.first(), due.last()) else { return };
        if due.len() != count as usize || due.iter().any(|due| due.found.full) || forms >= FORMS_MAX {
            return;
        }
        let (first, run_word) = (self.members.len() as u32, self.runs.words().len());
        self.members.extend_from_slice(due);
        self.keys.extend(due.iter().map(|due| request.keys[due.at as usize]));
        for [previous, due] in due.array_windows() {
            let gap = packet::gap_code(due.slot - previous.slot - 1, request.gap_order);
            let (lead, bits) = due.source.code_after(gap, previous.source, self.tick);
            self.runs.write(lead, bits);
            self.runs.append(deltas.words(due.found), u32::from(due.found.bits));
        }
        let run_bits = (self.runs.bits() - run_word * 64) as u32;
        self.runs.align();
        self.heads[group] = (self.round, self.blocks.len() as u32, forms + 1);
        self.blocks.push(Block {
            due: request.due,
            received: request.received,
            gap_order: request.gap_order,
            first,
            len: count,
            run_word: run_word as u32,
            run_bits,
            start: *start,
            end: end.slot + 1,
            end_source: end.source,
            bits: run_bits as usize + usize::from(start.found.bits),
            cost: due.iter().map(DueEntity::cost).sum(),
            next,
        });
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Returns a block by its number.
    pub fn at(&self, number: u32) -> &Block {
        &self.blocks[number as usize]
    }

    /// Returns the entities of a block.
    pub fn members(&self, block: &Block) -> &[DueEntity] {
        &self.members[block.first as usize..][..block.len as usize]
    }

    /// Returns the bits of all entities of a block except the first.
    pub fn run(&self, block: &Block) -> (&[u64], u32) {
        (&self.runs.words()[block.run_word as usize..], block.run_bits)
    }

    #[inline]
    fn matches(&self, block: &Block, request: &BlockRequest<'_>) -> bool {
        if block.received != request.received || block.gap_order != request.gap_order || block.due != request.due {
            return false;
        }
        let mut keys = &self.keys[block.first as usize..][..block.len as usize];
        for word in request.words {
            let seen = &request.keys[word.before as usize..][..word.seen.count_ones() as usize];
            let (known, others) = keys.split_at(word.due.count_ones() as usize);
            let mut due = word.due;
            let is_same = if due == word.seen {
                seen == known
            } else {
                known.iter().all(|key| seen[(word.seen & remove_lowest(&mut due)).count_ones() as usize] == *key)
            };
            if !is_same {
                return false;
            }
            keys = others;
        }
        true
    }
}
