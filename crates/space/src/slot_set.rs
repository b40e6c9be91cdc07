//! Set of entity slots, as bits.

use std::fmt;

use crate::InterestChanges;

/// Slots in one word of the set.
const SLOTS_PER_WORD: usize = u64::BITS as usize;

/// Words that one word of the summary covers.
const WORDS_PER_SUMMARY: usize = u64::BITS as usize;

/// Words of a block. The set grows by whole blocks, so that bulk loops have no remainder. A block is one cache line.
const WORDS_PER_BLOCK: usize = 8;

/// A growable set of slots (small, dense numbers that identify entities), stored as one bit per slot.
///
/// Differences from a plain bit set: a summary has one bit per word, so iterations and intersections of nearly empty
/// sets skip 64 empty words at a time. [`rank`](Self::rank) returns the index of a slot among the members, so a caller
/// can have a dense array parallel to the set. There are no allocations once the set has seen its largest slot.
///
/// The memory depends on the largest slot ever inserted: about one and a half bits per slot.
#[derive(Clone, Default)]
pub struct SlotSet {
    words: Vec<u64>,
    /// One bit per word, set if the word is not zero.
    summary: Vec<u64>,
    /// Number of members before each word. A change in one word truncates the later entries, and [`SlotSet::index`]
    /// computes them again.
    before: Vec<u32>,
    len: u32,
}

impl SlotSet {
    /// An empty set.
    pub const fn new() -> Self {
        Self { words: Vec::new(), summary: Vec::new(), before: Vec::new(), len: 0 }
    }

    /// An empty set with memory for the slots below `slots`.
    pub fn with_slots(slots: u32) -> Self {
        let mut set = Self::new();
        set.reserve_slots(slots);
        set
    }

    /// Reserves memory for all slots below `slots`, so that later inserts of them do not allocate.
    pub fn reserve_slots(&mut self, slots: u32) {
        self.reserve_words((slots as usize).div_ceil(SLOTS_PER_WORD));
    }

    /// Number of members.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// True if the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True if `slot` is a member.
    #[inline]
    pub fn contains(&self, slot: u32) -> bool {
        let (word, bit) = word_and_bit(slot);
        self.words.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Adds `slot`. Returns true if it was not a member.
    #[inline]
    pub fn insert(&mut self, slot: u32) -> bool {
        let (word, bit) = word_and_bit(slot);
        if word >= self.words.len() {
            self.reserve_words(word + 1);
        }
        let bits = self.words[word];
        if bits & bit != 0 {
            return false;
        }
        self.words[word] = bits | bit;
        self.summary[word / WORDS_PER_SUMMARY] |= 1 << (word % WORDS_PER_SUMMARY);
        self.len += 1;
        self.before.truncate(word + 1);
        true
    }

    /// Removes `slot`. Returns true if it was a member.
    #[inline]
    pub fn remove(&mut self, slot: u32) -> bool {
        let (word, bit) = word_and_bit(slot);
        let Some(bits) = self.words.get_mut(word) else {
            return false;
        };
        if *bits & bit == 0 {
            return false;
        }
        *bits &= !bit;
        if *bits == 0 {
            self.summary[word / WORDS_PER_SUMMARY] &= !(1 << (word % WORDS_PER_SUMMARY));
        }
        self.len -= 1;
        self.before.truncate(word + 1);
        true
    }

    /// Adds the slots whose bits are set in `bits`. Bit 0 is slot `64 * word`.
    #[inline]
    pub fn insert_word(&mut self, word: usize, bits: u64) {
        match self.words.get(word) {
            Some(before) if before & bits == bits => {}
            Some(before) => self.set_word(word, before | bits),
            None => {
                self.reserve_words(word + 1);
                self.set_word(word, bits);
            }
        }
    }

    /// Removes the slots whose bits are set in `bits`. Bit 0 is slot `64 * word`.
    #[inline]
    pub fn remove_word(&mut self, word: usize, bits: u64) {
        if let Some(&before) = self.words.get(word)
            && before & bits != 0
        {
            self.set_word(word, before & !bits);
        }
    }

    /// Removes all slots and retains the memory.
    pub fn clear(&mut self) {
        let stretches = self.words.chunks_mut(WORDS_PER_SUMMARY);
        for (summary, words) in self.summary.iter_mut().zip(stretches) {
            if *summary != 0 {
                words.fill(0);
                *summary = 0;
            }
        }
        self.len = 0;
        self.before.truncate(1);
    }

    /// Copies `other` and reuses the memory.
    pub fn copy_from(&mut self, other: &Self) {
        self.clear();
        self.union_with(other);
    }

    /// Adds every member of `other`.
    pub fn union_with(&mut self, other: &Self) {
        self.reserve_words(other.words.len());
        for (word, bits) in occupied_words(other) {
            self.set_word(word, self.words[word] | bits);
        }
    }

    /// Removes every slot that is not a member of `other`.
    pub fn intersect_with(&mut self, other: &Self) {
        for index in 0..self.summary.len() {
            let mut summary = self.summary[index];
            while summary != 0 {
                let word = index * WORDS_PER_SUMMARY + summary.trailing_zeros() as usize;
                summary &= summary - 1;
                let mask = other.words.get(word).copied().unwrap_or(0);
                self.set_word(word, self.words[word] & mask);
            }
        }
    }

    /// Removes every member of `other`.
    pub fn subtract(&mut self, other: &Self) {
        let end = self.words.len();
        for (word, bits) in occupied_words(other).take_while(|(word, _)| *word < end) {
            self.set_word(word, self.words[word] & !bits);
        }
    }

    /// Members in ascending order.
    #[inline]
    pub fn iter(&self) -> SlotSetIter<'_> {
        SlotSetIter(BitIter::new(self))
    }

    /// Members of both sets, in ascending order, without building a third set.
    #[inline]
    pub fn intersection<'a>(&'a self, other: &'a Self) -> SlotSetIntersection<'a> {
        SlotSetIntersection(BitIter::new(Both(self, other)))
    }

    /// Words that are not zero, each with its index, in ascending order.
    #[inline]
    pub fn occupied(&self) -> impl Iterator<Item = (usize, u64)> {
        occupied_words(self)
    }

    /// Number of words that are not zero.
    #[inline]
    pub fn occupied_len(&self) -> usize {
        self.summary.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// The bits: slot `s` is bit `s % 64` of word `s / 64`. Words past the end are zero.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the index of `slot` among the members in ascending order, or `None` if it is not a member.
    ///
    /// It is fast after [`index`](Self::index): one popcount and one load. After a change, it counts the words from the
    /// change on until `index` is called again.
    #[inline]
    pub fn rank(&self, slot: u32) -> Option<usize> {
        let (word, bit) = word_and_bit(slot);
        let bits = *self.words.get(word)?;
        if bits & bit == 0 {
            return None;
        }
        let before = match self.before.get(word) {
            Some(before) => *before,
            None => self.count_before(word),
        };
        Some((before + (bits & (bit - 1)).count_ones()) as usize)
    }

    /// Number of members below `slot`, which need not be a member. As fast as [`rank`](Self::rank).
    #[inline]
    pub fn count_below(&self, slot: u32) -> usize {
        let (word, bit) = word_and_bit(slot);
        let Some(bits) = self.words.get(word) else {
            return self.len();
        };
        let before = match self.before.get(word) {
            Some(before) => *before,
            None => self.count_before(word),
        };
        (before + (bits & (bit - 1)).count_ones()) as usize
    }

    /// Makes [`rank`](Self::rank) fast after a batch of changes. Free if nothing changed.
    /// [`InterestManager`](crate::InterestManager) indexes the sets that it updates.
    #[inline]
    pub fn index(&mut self) {
        if self.before.len() != self.words.len() {
            self.index_rest();
        }
    }

    fn index_rest(&mut self) {
        let known = self.before.len();
        let mut before = match known.checked_sub(1) {
            Some(last) => self.before[last] + self.words[last].count_ones(),
            None => 0,
        };
        self.before.extend(self.words[known..].iter().map(|bits| {
            let here = before;
            before += bits.count_ones();
            here
        }));
    }

    /// Replaces the set by the bits `next`, writes the difference into `changes`, and zeroes `next` for its next use.
    /// The set is indexed afterwards.
    ///
    /// `next` must be as long as [`words`](Self::words).
    pub(crate) fn replace(&mut self, next: &mut [u64], changes: &mut InterestChanges) {
        assert_eq!(next.len(), self.words.len(), "`next` has another length than the set");
        changes.clear();
        self.index();
        let mut gained = 0u32;
        let (differences, _) = next.as_chunks_mut();
        let (blocks, _) = self.words.as_chunks_mut();
        let (before_blocks, _) = self.before.as_chunks_mut();
        let blocks = blocks.iter_mut().zip(before_blocks).zip(differences);
        for (block, ((words, before), differences)) in blocks.enumerate() {
            if gained != 0 {
                for before in before.iter_mut() {
                    *before = before.wrapping_add(gained);
                }
            }
            // All differences of a block are computed without branches: most words do not differ.
            let mut any = 0;
            for (difference, word) in differences.iter_mut().zip(words.iter()) {
                *difference ^= word;
                any |= *difference;
            }
            if any != 0 {
                let first = block * WORDS_PER_BLOCK;
                let summary = &mut self.summary[first / WORDS_PER_SUMMARY];
                let block = Block { first, words, before, summary };
                gained = gained.wrapping_add(block.change(differences, changes));
            }
        }
        self.len = self.len.wrapping_add(gained);
    }

    #[inline]
    pub(crate) fn reserve_words(&mut self, words: usize) {
        if words > self.words.len() {
            self.grow(block_words(words));
        }
    }

    #[cold]
    fn grow(&mut self, words: usize) {
        self.words.resize(words, 0);
        self.summary.resize(words.div_ceil(WORDS_PER_SUMMARY), 0);
        // Memory for the ranks too, so that `index` does not allocate.
        self.before.reserve(words - self.before.len());
    }

    fn set_word(&mut self, word: usize, bits: u64) {
        let old = self.words[word];
        if old == bits {
            return;
        }
        self.words[word] = bits;
        self.len = self.len - old.count_ones() + bits.count_ones();
        self.before.truncate(word + 1);
        let summary = &mut self.summary[word / WORDS_PER_SUMMARY];
        let shift = word % WORDS_PER_SUMMARY;
        *summary = *summary & !(1 << shift) | u64::from(bits != 0) << shift;
    }

    #[cold]
    fn count_before(&self, word: usize) -> u32 {
        let last = self.before.len().saturating_sub(1);
        let known = self.before.last().copied().unwrap_or(0);
        let counted: u32 = self.words[last..word].iter().map(|w| w.count_ones()).sum();
        known + counted
    }
}

/// A block of a set that is being replaced.
struct Block<'a> {
    /// Index of the first word of the block.
    first: usize,
    words: &'a mut [u64; WORDS_PER_BLOCK],
    before: &'a mut [u32; WORDS_PER_BLOCK],
    /// The summary word of this block.
    summary: &'a mut u64,
}

impl Block<'_> {
    /// Toggles the members in `differences`, and clears it. Returns the number of gained members, modulo 2^32.
    ///
    /// The changed words of a block, and the direction of each change, are almost random. So there are no branches on
    /// them.
    fn change(self, differences: &mut [u64; WORDS_PER_BLOCK], changes: &mut InterestChanges) -> u32 {
        let mut changed = 0u32;
        for (lane, difference) in differences.iter().enumerate() {
            changed |= u32::from(*difference != 0) << lane;
        }
        let mut gained_in_all = 0u32;
        while changed != 0 {
            let lane = changed.trailing_zeros() as usize % WORDS_PER_BLOCK;
            changed &= changed - 1;
            let word = self.first + lane;
            let difference = std::mem::take(&mut differences[lane]);
            self.words[lane] ^= difference;
            let new = self.words[lane];
            let gained = changes.push_word(word, difference, new);
            let shift = word % WORDS_PER_SUMMARY;
            *self.summary = *self.summary & !(1 << shift) | u64::from(new != 0) << shift;
            for (other, before) in self.before.iter_mut().enumerate() {
                *before = before.wrapping_add(if other > lane { gained } else { 0 });
            }
            gained_in_all = gained_in_all.wrapping_add(gained);
        }
        gained_in_all
    }
}

/// Number of words, rounded up to whole blocks.
pub(crate) fn block_words(words: usize) -> usize {
    words.next_multiple_of(WORDS_PER_BLOCK)
}

/// Number of words, in whole blocks, for all slots below `slots`.
pub(crate) fn words_for_slots(slots: usize) -> usize {
    block_words(slots.div_ceil(SLOTS_PER_WORD))
}

/// Words of `set` that are not zero, with their indexes.
#[inline]
pub(crate) fn occupied_words(set: &SlotSet) -> OccupiedWords<'_> {
    OccupiedWords { words: &set.words, summaries: set.summary.iter(), first: 0, next_first: 0, bits: 0 }
}

/// Iterator of [`occupied_words`].
#[derive(Clone)]
pub(crate) struct OccupiedWords<'a> {
    words: &'a [u64],
    summaries: std::slice::Iter<'a, u64>,
    /// First word of the current summary and of the next one.
    first: usize,
    next_first: usize,
    /// Words of the current summary that were not visited yet.
    bits: u64,
}

impl Iterator for OccupiedWords<'_> {
    type Item = (usize, u64);

    #[inline]
    fn next(&mut self) -> Option<(usize, u64)> {
        while self.bits == 0 {
            self.bits = *self.summaries.next()?;
            self.first = self.next_first;
            self.next_first += WORDS_PER_SUMMARY;
        }
        let word = self.first + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some((word, self.words[word]))
    }
}

/// Word index and bit of `slot`.
#[inline]
pub(crate) fn word_and_bit(slot: u32) -> (usize, u64) {
    let slot = slot as usize;
    (slot / SLOTS_PER_WORD, 1 << (slot % SLOTS_PER_WORD))
}

impl PartialEq for SlotSet {
    /// Two sets are equal if they have the same members. Their capacity does not matter.
    fn eq(&self, other: &Self) -> bool {
        let shared = self.words.len().min(other.words.len());
        self.len == other.len && self.words[..shared] == other.words[..shared]
    }
}

impl Eq for SlotSet {}

impl fmt::Debug for SlotSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self).finish()
    }
}

impl Extend<u32> for SlotSet {
    fn extend<T: IntoIterator<Item = u32>>(&mut self, slots: T) {
        for slot in slots {
            self.insert(slot);
        }
    }
}

impl FromIterator<u32> for SlotSet {
    fn from_iter<T: IntoIterator<Item = u32>>(slots: T) -> Self {
        let mut set = Self::new();
        set.extend(slots);
        set
    }
}

impl<'a> IntoIterator for &'a SlotSet {
    type Item = u32;
    type IntoIter = SlotSetIter<'a>;

    fn into_iter(self) -> SlotSetIter<'a> {
        self.iter()
    }
}

/// Members of a [`SlotSet`], in ascending order.
#[derive(Clone)]
pub struct SlotSetIter<'a>(BitIter<&'a SlotSet>);

/// Common members of two [`SlotSet`]s, in ascending order.
#[derive(Clone)]
pub struct SlotSetIntersection<'a>(BitIter<Both<'a>>);

impl Iterator for SlotSetIter<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.0.next()
    }
}

impl Iterator for SlotSetIntersection<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.0.next()
    }
}

/// Source of bits for an iteration: a set, or the intersection of two.
trait BitSource {
    /// A word of the summary, or `None` past the end. A set bit means that the word may have members.
    fn summary(&self, index: usize) -> Option<u64>;
    fn word(&self, index: usize) -> u64;
}

impl BitSource for &SlotSet {
    #[inline]
    fn summary(&self, index: usize) -> Option<u64> {
        self.summary.get(index).copied()
    }

    #[inline]
    fn word(&self, index: usize) -> u64 {
        self.words[index]
    }
}

#[derive(Clone, Copy)]
struct Both<'a>(&'a SlotSet, &'a SlotSet);

impl BitSource for Both<'_> {
    #[inline]
    fn summary(&self, index: usize) -> Option<u64> {
        Some(self.0.summary.get(index)? & self.1.summary.get(index)?)
    }

    #[inline]
    fn word(&self, index: usize) -> u64 {
        self.0.words[index] & self.1.words[index]
    }
}

/// Iterates over the bits of a source. The summary skips empty words.
#[derive(Clone)]
struct BitIter<S> {
    source: S,
    summary_next: usize,
    summary: u64,
    word: usize,
    bits: u64,
}

impl<S: BitSource> BitIter<S> {
    #[inline]
    fn new(source: S) -> Self {
        Self { summary: source.summary(0).unwrap_or(0), source, summary_next: 1, word: 0, bits: 0 }
    }

    #[inline]
    fn next(&mut self) -> Option<u32> {
        while self.bits == 0 {
            while self.summary == 0 {
                self.summary = self.source.summary(self.summary_next)?;
                self.summary_next += 1;
            }
            self.word = (self.summary_next - 1) * WORDS_PER_SUMMARY + self.summary.trailing_zeros() as usize;
            self.summary &= self.summary - 1;
            self.bits = self.source.word(self.word);
        }
        let slot = (self.word * SLOTS_PER_WORD) as u32 + self.bits.trailing_zeros();
        self.bits &= self.bits - 1;
        Some(slot)
    }
}
