//! Stretches of 64 slots that several clients need in the same form.
//!
//! Where many clients see the same crowd, they need the same differences of the same entities in the same order. The
//! first one that needs a stretch leaves its bits here; the others take them as one run instead of entity by entity. The
//! bytes are the same either way.

use crate::deltas::DeltaCache;
use crate::gather::DueEntity;
use crate::packet::{self, DeltaSource};
use aether_bits::BitWriter;
use aether_wire::Tick;

/// Below so many due entities a stretch is not worth sharing.
pub(crate) const DUE_MIN: u32 = 4;
/// So many forms of one stretch are kept; clients that need yet another one get theirs entity by entity.
const FORMS_MAX: u32 = 8;

/// The shared stretches of one snapshot.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    tick: Tick,
    round: u32,
    /// Per stretch: the round in which it was last used, its first form and how many there are.
    heads: Vec<(u32, u32, u32)>,
    blocks: Vec<Block>,
    members: Vec<Member>,
    /// The bits of all members but the first, whose lead depends on what stands before it.
    runs: BitWriter,
}

/// One form of a stretch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// The slots of the stretch.
    pub due: u64,
    received: Tick,
    gap_order: u32,
    first: u32,
    len: u32,
    run_word: u32,
    run_bits: u32,
    pub source: DeltaSource,
    /// What it takes in a packet, but for the lead of its first entity.
    pub bits: usize,
    /// What its entities count against the budget.
    pub cost: usize,
    next: u32,
}

/// One entity of a form, with the state that the client had: who has the same needs the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub due: DueEntity,
    base: Tick,
    spacing: u8,
}

/// What a client needs of a stretch.
#[derive(Clone, Copy)]
pub(crate) struct Want<'a> {
    pub word: u32,
    /// The slots of the stretch that it sees.
    pub seen: u64,
    /// Those of them that are due.
    pub due: u64,
    /// Where the stretch begins in the roster.
    pub before: u32,
    pub bases: &'a [Tick],
    pub spacings: &'a [u8],
    pub received: Tick,
    pub gap_order: u32,
}

const NONE: u32 = u32::MAX;

impl Want<'_> {
    /// The place in the roster of the slot with this bit.
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

    /// The number of the form that a client needs, if another one needed it before.
    pub fn find(&self, want: &Want<'_>) -> Option<u32> {
        let &(round, mut number, _) = self.heads.get(want.word as usize)?;
        if round != self.round {
            return None;
        }
        while number != NONE {
            let block = &self.blocks[number as usize];
            if self.fits(block, want) {
                return Some(number);
            }
            number = block.next;
        }
        None
    }

    /// Keeps what a client was found to need, if it can be shared: differences only, all from one source.
    pub fn keep(&mut self, want: &Want<'_>, due: &[DueEntity], deltas: &DeltaCache) {
        let word = want.word as usize;
        if word >= self.heads.len() {
            self.heads.resize(word + 1, (0, NONE, 0));
        }
        let (round, next, forms) = self.heads[word];
        let (next, forms) = if round == self.round { (next, forms) } else { (NONE, 0) };
        let Some(source) = due.first().map(|first| first.source(self.tick)) else { return };
        let uniform = due.iter().all(|due| !due.found.full && due.source(self.tick) == source);
        if !uniform || forms >= FORMS_MAX || due.len() != want.due.count_ones() as usize {
            return;
        }
        let (first, run_word) = (self.members.len() as u32, self.runs.words().len());
        for (index, due) in due.iter().enumerate() {
            let at = due.at as usize;
            self.members.push(Member { due: *due, base: want.bases[at], spacing: want.spacings[at] });
            if let Some(previous) = index.checked_sub(1).map(|index| &self.members[first as usize + index].due) {
                let (lead, bits) = packet::gap_code(due.slot - previous.slot - 1, want.gap_order);
                deltas.append(lead, bits + 1, due.found, &mut self.runs);
            }
        }
        let run_bits = (self.runs.bits() - run_word * 64) as u32;
        self.runs.align();
        self.heads[word] = (self.round, self.blocks.len() as u32, forms + 1);
        self.blocks.push(Block {
            due: want.due,
            received: want.received,
            gap_order: want.gap_order,
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

    /// How many forms there are.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// A form by its number.
    pub fn at(&self, number: u32) -> &Block {
        &self.blocks[number as usize]
    }

    /// The entities of a form.
    pub fn members(&self, block: &Block) -> &[Member] {
        &self.members[block.first as usize..][..block.len as usize]
    }

    /// Appends everything of a form but its first entity.
    pub fn append(&self, block: &Block, writer: &mut BitWriter) {
        writer.append(&self.runs.words()[block.run_word as usize..], block.run_bits);
    }

    #[inline]
    fn fits(&self, block: &Block, want: &Want<'_>) -> bool {
        if block.due != want.due || block.received != want.received || block.gap_order != want.gap_order {
            return false;
        }
        self.members(block).iter().all(|member| {
            let at = want.at(1 << (member.due.slot % 64));
            want.bases[at] == member.base && want.spacings[at] == member.spacing
        })
    }
}
