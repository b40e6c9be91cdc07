//! Blocks: runs of encoded deltas of 64 slots that several clients share.
//!
//! Clients that see the same crowd need the same deltas of the same entities in the same order. The first client that
//! needs a word of 64 slots stores its bits here; the others copy them as one run instead of entity by entity. The
//! bytes are the same either way.

use crate::deltas::DeltaCache;
use crate::gather::DueEntity;
use crate::packet::{self, DeltaSource};
use aether_bits::BitWriter;
use aether_wire::Tick;

/// Minimum number of due entities of a word that is shared.
pub(crate) const DUE_MIN: u32 = 4;
/// Maximum number of blocks of one word. Further clients with other requests are served entity by entity.
const FORMS_MAX: u32 = 8;

/// Shared blocks of one snapshot.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    tick: Tick,
    round: u32,
    /// Per word: the round in which it was last used, its first block and the number of blocks.
    heads: Vec<(u32, u32, u32)>,
    blocks: Vec<Block>,
    members: Vec<Member>,
    /// Bits of all members except the first, whose lead depends on what precedes it.
    runs: BitWriter,
}

/// The encoded updates of one word for one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// Slots of the word that are due.
    pub due: u64,
    received: Tick,
    gap_order: u32,
    first: u32,
    len: u32,
    run_word: u32,
    run_bits: u32,
    pub source: DeltaSource,
    /// Bits in a packet, without the lead of the first entity.
    pub bits: usize,
    /// Bits that its entities count against the budget.
    pub cost: usize,
    next: u32,
}

/// One entity of a block, with the baseline that the client has: clients with the same baselines need the same bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub due: DueEntity,
    base: Tick,
    spacing: u8,
}

/// Updates of a word that a client needs.
#[derive(Clone, Copy)]
pub(crate) struct BlockRequest<'a> {
    pub word: u32,
    /// Slots of the word that the client sees.
    pub seen: u64,
    /// Visible slots that are due.
    pub due: u64,
    /// Index of the word's first slot in the arrays of `ViewEntities`.
    pub before: u32,
    pub bases: &'a [Tick],
    pub spacings: &'a [u8],
    pub received: Tick,
    pub gap_order: u32,
}

const NONE: u32 = u32::MAX;

impl BlockRequest<'_> {
    /// Returns the index in the arrays of `ViewEntities` for the slot with this bit.
    #[inline]
    pub fn at(&self, bit: u64) -> usize {
        (self.before + (self.seen & (bit - 1)).count_ones()) as usize
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
        self.runs.clear();
    }

    /// Returns the number of a block that matches the request.
    pub fn find(&self, request: &BlockRequest<'_>) -> Option<u32> {
        let &(round, mut number, _) = self.heads.get(request.word as usize)?;
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

    /// Adds a block if it can be shared: deltas only, all from one source.
    pub fn add(&mut self, request: &BlockRequest<'_>, due: &[DueEntity], deltas: &DeltaCache) {
        let word = request.word as usize;
        if word >= self.heads.len() {
            self.heads.resize(word + 1, (0, NONE, 0));
        }
        let (round, next, forms) = self.heads[word];
        let (next, forms) = if round == self.round { (next, forms) } else { (NONE, 0) };
        let Some(source) = due.first().map(|first| first.source(self.tick)) else { return };
        let uniform = due.iter().all(|due| !due.found.full && due.source(self.tick) == source);
        if !uniform || forms >= FORMS_MAX || due.len() != request.due.count_ones() as usize {
            return;
        }
        let (first, run_word) = (self.members.len() as u32, self.runs.words().len());
        for (index, due) in due.iter().enumerate() {
            let at = due.at as usize;
            self.members.push(Member { due: *due, base: request.bases[at], spacing: request.spacings[at] });
            if let Some(previous) = index.checked_sub(1).map(|index| &self.members[first as usize + index].due) {
                let (lead, bits) = packet::gap_code(due.slot - previous.slot - 1, request.gap_order);
                deltas.append(lead, bits + 1, due.found, &mut self.runs);
            }
        }
        let run_bits = (self.runs.bits() - run_word * 64) as u32;
        self.runs.align();
        self.heads[word] = (self.round, self.blocks.len() as u32, forms + 1);
        self.blocks.push(Block {
            due: request.due,
            received: request.received,
            gap_order: request.gap_order,
            first,
            len: due.len() as u32,
            run_word: run_word as u32,
            run_bits,
            source,
            bits: run_bits as usize + usize::from(due[0].found.bits),
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
    pub fn members(&self, block: &Block) -> &[Member] {
        &self.members[block.first as usize..][..block.len as usize]
    }

    /// Appends all entities of a block except the first.
    pub fn append(&self, block: &Block, writer: &mut BitWriter) {
        writer.append(&self.runs.words()[block.run_word as usize..], block.run_bits);
    }

    #[inline]
    fn matches(&self, block: &Block, request: &BlockRequest<'_>) -> bool {
        if block.due != request.due || block.received != request.received || block.gap_order != request.gap_order {
            return false;
        }
        self.members(block).iter().all(|member| {
            let at = request.at(1 << (member.due.slot % 64));
            request.bases[at] == member.base && request.spacings[at] == member.spacing
        })
    }
}
