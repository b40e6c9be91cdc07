//! Blocks: runs of encoded deltas of 64 slots that several clients share.
//!
//! Clients that see the same crowd need the same deltas of the same entities in the same order. The first client that
//! needs a word of 64 slots stores its bits here; the others copy them as one run instead of entity by entity. The
//! bytes are the same either way.

use crate::deltas::{DeltaCache, DeltaKey};
use crate::gather::DueEntity;
use crate::packet;
use aether_bits::BitWriter;
use aether_wire::Tick;

/// Minimum number of due entities of a word that is shared.
pub(crate) const DUE_MIN: u32 = 4;
/// Maximum number of blocks of one word. Further clients with other requests are served entity by entity.
const FORMS_MAX: u32 = 8;

/// Shared blocks of one snapshot.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    round: u32,
    /// Per word: the round in which it was last used, its first block and the number of blocks.
    heads: Vec<(u32, u32, u32)>,
    blocks: Vec<Block>,
    members: Vec<DueEntity>,
    /// Per member: the baseline that the client has. Clients with the same baselines need the same bits.
    keys: Vec<DeltaKey>,
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
    pub len: u32,
    run_word: u32,
    run_bits: u32,
    pub source: DeltaKey,
    /// First entity, whose lead depends on what precedes it.
    pub start: DueEntity,
    /// Slot after the last entity.
    pub end: u32,
    /// Bits in a packet, without the lead of the first entity.
    pub bits: usize,
    /// Bits that its entities count against the budget.
    pub cost: usize,
    next: u32,
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
    pub keys: &'a [DeltaKey],
    pub received: Tick,
    pub gap_order: u32,
}

const NONE: u32 = u32::MAX;

impl Blocks {
    pub fn begin(&mut self, round: u32) {
        if round <= self.round {
            self.heads.clear();
        }
        self.round = round;
        self.blocks.clear();
        self.members.clear();
        self.keys.clear();
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
        let Some(source) = due.first().map(|first| first.source) else { return };
        let uniform = due.iter().all(|due| !due.found.full && due.source == source);
        if !uniform || forms >= FORMS_MAX || due.len() != request.due.count_ones() as usize {
            return;
        }
        let (first, run_word) = (self.members.len() as u32, self.runs.words().len());
        for (index, due) in due.iter().enumerate() {
            self.members.push(*due);
            self.keys.push(request.keys[due.at as usize]);
            if let Some(previous) = index.checked_sub(1).map(|index| &self.members[first as usize + index]) {
                let (lead, bits) = packet::gap_code(due.slot - previous.slot - 1, request.gap_order);
                self.runs.write(lead, bits + 1);
                self.runs.append(deltas.words(due.found), u32::from(due.found.bits));
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
            start: due[0],
            end: due[due.len() - 1].slot + 1,
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
    pub fn members(&self, block: &Block) -> &[DueEntity] {
        &self.members[block.first as usize..][..block.len as usize]
    }

    /// Returns the bits of all entities of a block except the first.
    pub fn run(&self, block: &Block) -> (&[u64], u32) {
        (&self.runs.words()[block.run_word as usize..], block.run_bits)
    }

    #[inline]
    fn matches(&self, block: &Block, request: &BlockRequest<'_>) -> bool {
        if block.due != request.due || block.received != request.received || block.gap_order != request.gap_order {
            return false;
        }
        let seen = &request.keys[request.before as usize..][..request.seen.count_ones() as usize];
        let mut due = block.due;
        self.keys[block.first as usize..][..block.len as usize].iter().all(|key| {
            let bit = due & due.wrapping_neg();
            due ^= bit;
            seen[(request.seen & (bit - 1)).count_ones() as usize] == *key
        })
    }
}
