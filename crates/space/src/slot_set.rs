//! A set of entity slots, as bits.

use std::fmt;

use crate::InterestChanges;

/// Slots in one word of the set.
const SLOTS_PER_WORD: usize = u64::BITS as usize;

/// Words that one word of the summary stands for.
const WORDS_PER_SUMMARY: usize = u64::BITS as usize;

/// The set grows by whole blocks of this many words, so that bulk loops have no remainder; a block
/// is one cache line.
const WORDS_PER_BLOCK: usize = 8;

/// A growable set of slots (small, dense numbers that name entities), kept as one bit per slot.
///
/// Three things set it apart from a plain bit set. A summary holds one bit per word, so walking or
/// intersecting nearly empty sets skips the empty words 64 at a time. [`rank`](Self::rank) tells at
/// which position a slot stands among the members, so a caller can keep a packed array parallel to
/// the set. And nothing here allocates once the set has seen its largest slot.
///
/// The memory follows the largest slot ever inserted, at about a bit and a half per slot.
#[derive(Clone, Default)]
pub struct SlotSet {
    words: Vec<u64>,
    /// One bit per word, set where the word is not zero.
    summary: Vec<u64>,
    /// How many members lie before each word. Only the entries that are still true are kept: a
    /// change in one word cuts off what follows it, and [`SlotSet::index`] fills it up again.
    before: Vec<u32>,
    len: u32,
}

impl SlotSet {
    /// An empty set.
    pub const fn new() -> Self {
        Self { words: Vec::new(), summary: Vec::new(), before: Vec::new(), len: 0 }
    }

    /// An empty set with room for the slots below `slots`.
    pub fn with_slots(slots: u32) -> Self {
        let mut set = Self::new();
        set.reserve_slots(slots);
        set
    }

    /// Makes room for all slots below `slots`, so that later inserts of them do not allocate.
    pub fn reserve_slots(&mut self, slots: u32) {
        self.reserve_words((slots as usize).div_ceil(SLOTS_PER_WORD));
    }

    /// How many slots are members.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether no slot is a member.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether `slot` is a member.
    #[inline]
    pub fn contains(&self, slot: u32) -> bool {
        let (word, bit) = place(slot);
        self.words.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Adds `slot`; tells whether it was new.
    #[inline]
    pub fn insert(&mut self, slot: u32) -> bool {
        let (word, bit) = place(slot);
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

    /// Takes `slot` out; tells whether it was a member.
    #[inline]
    pub fn remove(&mut self, slot: u32) -> bool {
        let (word, bit) = place(slot);
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

    /// Adds the slots whose bits are set in `bits`, of the 64 slots from `64 * word` on.
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

    /// Takes out the slots whose bits are set in `bits`, of the 64 slots from `64 * word` on.
    #[inline]
    pub fn remove_word(&mut self, word: usize, bits: u64) {
        if let Some(&before) = self.words.get(word)
            && before & bits != 0
        {
            self.set_word(word, before & !bits);
        }
    }

    /// Takes all slots out and keeps the memory.
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

    /// Becomes equal to `other` and keeps its own memory.
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

    /// Keeps only what is also a member of `other`.
    pub fn intersect_with(&mut self, other: &Self) {
        for index in 0..self.summary.len() {
            let mut summary = self.summary[index];
            while summary != 0 {
                let word = index * WORDS_PER_SUMMARY + summary.trailing_zeros() as usize;
                summary &= summary - 1;
                let kept = other.words.get(word).copied().unwrap_or(0);
                self.set_word(word, self.words[word] & kept);
            }
        }
    }

    /// Takes out every member of `other`.
    pub fn subtract(&mut self, other: &Self) {
        let end = self.words.len();
        for (word, bits) in occupied_words(other).take_while(|(word, _)| *word < end) {
            self.set_word(word, self.words[word] & !bits);
        }
    }

    /// The members in ascending order.
    #[inline]
    pub fn iter(&self) -> SlotSetIter<'_> {
        SlotSetIter(Walk::new(self))
    }

    /// The slots that are members of both sets, in ascending order, without building a third set.
    #[inline]
    pub fn intersection<'a>(&'a self, other: &'a Self) -> SlotSetIntersection<'a> {
        SlotSetIntersection(Walk::new(Both(self, other)))
    }

    /// The words that are not empty, each with its number, ascending.
    #[inline]
    pub fn occupied(&self) -> impl Iterator<Item = (usize, u64)> {
        occupied_words(self)
    }

    /// The bits themselves: slot `s` is bit `s % 64` of word `s / 64`. Words past the end are zero.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The position of `slot` among the members in ascending order, or nothing if it is no member.
    ///
    /// It is always right, and quick after [`index`](Self::index): one popcount and one load. After
    /// a change it has to count the words from the change on until `index` is called again.
    #[inline]
    pub fn rank(&self, slot: u32) -> Option<usize> {
        let (word, bit) = place(slot);
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

    /// How many members lie below `slot`, which need not be a member itself. As quick as [`rank`](Self::rank).
    #[inline]
    pub fn count_below(&self, slot: u32) -> usize {
        let (word, bit) = place(slot);
        let Some(bits) = self.words.get(word) else {
            return self.len();
        };
        let before = match self.before.get(word) {
            Some(before) => *before,
            None => self.count_before(word),
        };
        (before + (bits & (bit - 1)).count_ones()) as usize
    }

    /// Makes [`rank`](Self::rank) quick again after a batch of changes. Costs nothing when nothing
    /// changed. [`Interest`](crate::Interest) leaves the sets it updates indexed.
    pub fn index(&mut self) {
        let known = self.before.len();
        if known == self.words.len() {
            return;
        }
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

    /// Becomes the set whose bits are `next`, writes the difference into `changes`, and leaves
    /// `next` all zero for its next use. The set is indexed afterwards.
    ///
    /// `next` must be as long as [`words`](Self::words).
    pub(crate) fn replace(&mut self, next: &mut [u64], changes: &mut InterestChanges) {
        assert_eq!(next.len(), self.words.len(), "both have the same words");
        changes.clear();
        self.index();
        // All differences first, in a loop without branches, because most words do not differ.
        for (next, word) in next.iter_mut().zip(&self.words) {
            *next ^= word;
        }
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
            if differences.iter().fold(0, |all, bits| all | bits) != 0 {
                let first = block * WORDS_PER_BLOCK;
                let summary = &mut self.summary[first / WORDS_PER_SUMMARY];
                let block = Block { first, words, before, summary };
                gained = gained.wrapping_add(block.change(differences, changes));
            }
        }
        self.len = self.len.wrapping_add(gained);
    }

    pub(crate) fn reserve_words(&mut self, words: usize) {
        let words = block_words(words);
        if words > self.words.len() {
            self.words.resize(words, 0);
            self.summary.resize(words.div_ceil(WORDS_PER_SUMMARY), 0);
            // Room for the ranks too, so that indexing never allocates by surprise.
            self.before.reserve(words - self.before.len());
        }
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
        let place = word % WORDS_PER_SUMMARY;
        *summary = *summary & !(1 << place) | u64::from(bits != 0) << place;
    }

    #[cold]
    fn count_before(&self, word: usize) -> u32 {
        let last = self.before.len().saturating_sub(1);
        let known = self.before.last().copied().unwrap_or(0);
        let counted: u32 = self.words[last..word].iter().map(|w| w.count_ones()).sum();
        known + counted
    }
}

/// One block of a set that is being replaced.
struct Block<'a> {
    /// The number of the block's first word.
    first: usize,
    words: &'a mut [u64; WORDS_PER_BLOCK],
    before: &'a mut [u32; WORDS_PER_BLOCK],
    /// The word of the summary that has this block's bits.
    summary: &'a mut u64,
}

impl Block<'_> {
    /// Changes the members that `differences` names, and clears it. Tells how many members the block
    /// gained, modulo 2^32.
    ///
    /// Which words of a block changed, and whether a slot entered or left, is as good as random, so
    /// there are no branches on it.
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
            let place = word % WORDS_PER_SUMMARY;
            *self.summary = *self.summary & !(1 << place) | u64::from(new != 0) << place;
            for (other, before) in self.before.iter_mut().enumerate() {
                *before = before.wrapping_add(if other > lane { gained } else { 0 });
            }
            gained_in_all = gained_in_all.wrapping_add(gained);
        }
        gained_in_all
    }
}

/// The number of words, rounded up to whole blocks.
pub(crate) fn block_words(words: usize) -> usize {
    words.next_multiple_of(WORDS_PER_BLOCK)
}

/// The number of words, in whole blocks, that hold all slots below `slots`.
pub(crate) fn words_for_slots(slots: usize) -> usize {
    block_words(slots.div_ceil(SLOTS_PER_WORD))
}

/// The words of `set` that are not zero, with their positions.
pub(crate) fn occupied_words(set: &SlotSet) -> impl Iterator<Item = (usize, u64)> {
    set.summary.iter().enumerate().flat_map(move |(index, summary)| {
        let first = index * WORDS_PER_SUMMARY;
        bits_of(*summary).map(move |bit| (first + bit, set.words[first + bit]))
    })
}

/// The word and the bit in it that stand for `slot`.
#[inline]
pub(crate) fn place(slot: u32) -> (usize, u64) {
    let slot = slot as usize;
    (slot / SLOTS_PER_WORD, 1 << (slot % SLOTS_PER_WORD))
}

fn bits_of(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (bits != 0).then(|| {
            let bit = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            bit
        })
    })
}

impl PartialEq for SlotSet {
    /// Two sets are equal when they have the same members, whatever room they have.
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

/// The members of a [`SlotSet`] in ascending order.
#[derive(Clone)]
pub struct SlotSetIter<'a>(Walk<&'a SlotSet>);

/// The slots that two [`SlotSet`]s share, in ascending order.
#[derive(Clone)]
pub struct SlotSetIntersection<'a>(Walk<Both<'a>>);

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

/// Something whose bits can be walked: a set, or two sets at once.
trait Source {
    /// A word of the summary, or nothing past the end. A set bit means that the word may hold
    /// members.
    fn summary(&self, index: usize) -> Option<u64>;
    fn word(&self, index: usize) -> u64;
}

impl Source for &SlotSet {
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

impl Source for Both<'_> {
    #[inline]
    fn summary(&self, index: usize) -> Option<u64> {
        Some(self.0.summary.get(index)? & self.1.summary.get(index)?)
    }

    #[inline]
    fn word(&self, index: usize) -> u64 {
        self.0.words[index] & self.1.words[index]
    }
}

/// Walks a source's bits: the summary names the words, the words name the slots.
#[derive(Clone)]
struct Walk<S> {
    source: S,
    summary_next: usize,
    summary: u64,
    word: usize,
    bits: u64,
}

impl<S: Source> Walk<S> {
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
