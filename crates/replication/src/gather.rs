//! Gathers the entities that are due for a client in a snapshot, and chooses among them by urgency.

use crate::blocks::{BlockRequest, DUE_MIN, GROUP_WORDS};
use crate::deltas::{DeltaKey, FoundDelta};
use crate::packet::{self, GAP_ORDER_MAX, SOURCE_BITS, SPACING_MAX};
use crate::packet_writer::PacketWords;
use crate::rings::Rings;
use crate::view::{ClientView, SnapshotContext};
use crate::{BASELINE_AGE_MAX, DeliveryOrder, DeltaCache};
use aether_space::SlotSet;
use aether_wire::Tick;
use aether_wire::limits::STATE_PACKET_BYTES_MAX;
use aether_world::LastChanges;
use std::cmp::Ordering;

/// Entities that are due for one client, and scratch memory. It can serve many views, one after the other.
#[derive(Debug, Default)]
pub struct GatherBuffer {
    /// Ordered by slot.
    pub(crate) due: Vec<DueEntity>,
    pub(crate) packet_words: PacketWords,
    /// Number of times that each range, and each block, was sent.
    pub(crate) uses: Vec<u32>,
    pub(crate) block_uses: Vec<u32>,
    urgency: Vec<(f32, u32)>,
    /// Scratch memory: `due` before blocks were expanded.
    folded: Vec<DueEntity>,
    /// Words of 64 slots in which something is due.
    slot_words: Vec<SlotWord>,
    /// Scratch memory: due slots, each with its index in the arrays of `ViewEntities`. Only the first `slot_count` count.
    slots: Vec<(u32, u32)>,
    slot_count: usize,
    /// Scratch memory: one bit per slot.
    words: Vec<u64>,
    /// Per word: slots that were last due, and [`gap_widths`] of them. Many clients need the same slots.
    word_widths: Vec<(u64, u32)>,
    /// Order of the Exp-Golomb code for gaps.
    pub(crate) gap_order: u32,
    /// Estimated bits of everything that is due.
    pub(crate) bits: usize,
    /// True if anything due is a full entity.
    pub(crate) any_full: bool,
    /// True if anything due is a block.
    any_block: bool,
}

/// A word of 64 slots, some of which are due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotWord {
    pub word: u32,
    /// Index of its first slot in the arrays of [`crate::view_entities::ViewEntities`].
    pub before: u32,
    /// Slots that the client sees.
    pub seen: u64,
    /// Visible slots that are due.
    pub due: u64,
}

impl SlotWord {
    /// Calls `visit` with each due slot and its index in the arrays of `ViewEntities`.
    #[inline(always)]
    fn each(self, mut visit: impl FnMut(u32, u32)) {
        let mut bits = self.due;
        while bits != 0 {
            let slot = self.word * 64 + bits.trailing_zeros();
            let below = remove_lowest(&mut bits);
            visit(slot, self.before + (self.seen & below).count_ones());
        }
    }
}

/// Removes the lowest of the bits, and returns all bits below it. There must be one.
#[inline(always)]
pub(crate) fn remove_lowest(bits: &mut u64) -> u64 {
    let below = *bits - 1;
    *bits &= below;
    below ^ *bits
}

/// An entity that is due, or a block of them. For a block, `found.range` is its number and `found.bits` is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DueEntity {
    pub slot: u32,
    /// Index in the arrays of `ViewEntities`; not used for a block.
    pub at: u32,
    /// States from which the update is made.
    pub source: DeltaKey,
    pub found: FoundDelta,
}

impl DueEntity {
    pub fn is_block(&self) -> bool {
        self.found.bits == 0
    }

    /// Bits that it counts against the budget, before the exact size is known. The same for blocks and single entities,
    /// so that sharing does not change what is chosen.
    pub fn cost(&self) -> usize {
        usize::from(self.found.bits) + PREFIX_BITS_TYPICAL
    }
}

/// Minimum urgency that an entity gains per snapshot, so that nothing starves.
const URGENCY_MIN: f32 = 0.05;
/// Factor for entities that the client does not have yet.
const URGENCY_NEW: f32 = 4.0;
/// Urgency of the player's own entity: above everything.
const URGENCY_FOCUS: f32 = 1e9;

impl GatherBuffer {
    /// Returns the number of most urgent entities that fit the budget; at least one, so that even the largest entity is
    /// sent eventually.
    fn fitting(&mut self, context: &SnapshotContext<'_>) -> usize {
        let budget_bits = context.settings.bytes_max * 8;
        let mut count = self.urgency.len();
        loop {
            let bits = self.packed_bits(count, context.world.tick());
            if bits <= budget_bits || count <= 1 {
                return count;
            }
            // Fewer entities have wider gaps, so this converges from above.
            count = (count * budget_bits / bits).clamp(1, count - 1);
        }
    }

    /// Returns the bits of the packets with the `count` most urgent entities, headers included.
    fn packed_bits(&mut self, count: usize, now: Tick) -> usize {
        self.words.clear();
        self.words.resize(self.due.last().map_or(0, |due| due.slot as usize / 64 + 1), 0);
        for &(_, index) in &self.urgency[..count] {
            let slot = self.due[index as usize].slot as usize;
            self.words[slot / 64] |= 1 << (slot % 64);
        }
        let (mut bits, mut next, mut source) = (0, 0, DeltaKey::new(now, 0));
        for due in &self.due {
            if self.words[due.slot as usize / 64] >> (due.slot % 64) & 1 == 1 {
                bits += packet::gap_code(due.slot - next, self.gap_order).1 as usize + usize::from(due.found.bits);
                next = due.slot + 1;
                if !due.found.full {
                    bits += if due.source == source { 1 } else { SOURCE_BITS as usize };
                    source = due.source;
                }
            }
        }
        // Every packet has a header and encodes its first slot and source in full.
        let packets = bits / (STATE_PACKET_BYTES_MAX * 8) + 1;
        bits + packets * (packet::HEADER_BITS_MAX + packet::PREFIX_BITS_MAX as usize)
    }

    /// Returns the maximum bits of everything due in one packet, unless blocks are due.
    pub(crate) fn bits_max(&self) -> Option<usize> {
        let beyond_typical = packet::PREFIX_BITS_MAX as usize - PREFIX_BITS_TYPICAL;
        (!self.any_block).then(|| self.bits + self.due.len() * beyond_typical)
    }

    /// Expands blocks into single entities, so that some can be left out.
    fn unfold(&mut self, deltas: &DeltaCache, visible: &SlotSet) {
        if !std::mem::take(&mut self.any_block) {
            return;
        }
        std::mem::swap(&mut self.due, &mut self.folded);
        self.due.clear();
        for due in &self.folded {
            if due.is_block() {
                let block = deltas.blocks.at(due.found.range);
                let members = deltas.blocks.members(block).iter();
                self.due
                    .extend(members.map(|member| DueEntity { at: visible.count_below(member.slot) as u32, ..*member }));
            } else {
                self.due.push(*due);
            }
        }
    }

    /// Returns the sum of the widths of the gaps between the due slots of a word.
    #[inline]
    fn gap_widths(&mut self, word: usize, due: u64) -> u32 {
        if due.count_ones() < DUE_MIN {
            return gap_widths(due);
        }
        let (known, widths) = &mut self.word_widths[word];
        if *known != due {
            (*known, *widths) = (due, gap_widths(due));
        }
        *widths
    }

    /// Returns memory for `count` slots. It never shrinks, so that writing a slot cannot allocate.
    fn slots_for(&mut self, count: usize) -> &mut [(u32, u32)] {
        if self.slots.len() < count {
            self.slots.resize(count, (0, 0));
        }
        &mut self.slots
    }

    /// Clears the use counts for a new snapshot.
    pub fn begin(&mut self) {
        self.uses.clear();
        self.block_uses.clear();
    }
}

impl DeltaCache {
    /// Encodes ahead the deltas that most of these clients need, in the order of slots. Memory is then read in one
    /// sweep instead of at random.
    pub fn encode_ahead<'v>(
        &mut self,
        context: &SnapshotContext<'_>,
        views: impl Iterator<Item = &'v ClientView> + Clone,
    ) {
        let now = context.world.tick();
        let Some(received) = views.clone().map(|view| view.received).max() else { return };
        // Clients do not have two states yet.
        if received.0 <= SPACING_MAX || received == now {
            return;
        }
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.clear();
        let (mut count, mut alike, mut others) = (0, 0, 0);
        for view in views {
            if view.received == received {
                let visible = view.entities.visible.words();
                if visible.len() > wanted.len() {
                    wanted.resize(visible.len(), 0);
                }
                for (wanted, visible) in wanted.iter_mut().zip(visible) {
                    *wanted |= visible;
                }
                count += view.entities.visible.len();
                alike += 1;
            } else {
                others += 1;
            }
        }
        let wanted_count: usize = wanted.iter().map(|bits| bits.count_ones() as usize).sum();
        // Skip it if clients share too little.
        if count > 2 * wanted_count && alike > 3 * others {
            let interval = now.0 - received.0;
            for (word, (wanted, changed)) in wanted.iter().zip(context.changed.words()).enumerate() {
                let mut bits = wanted & changed;
                while bits != 0 {
                    let slot = word as u32 * 64 + bits.trailing_zeros();
                    bits &= bits - 1;
                    let changes = context.world.last_changes(slot);
                    let before = changes.before();
                    let key = if before == received && interval <= RECENT_TICKS_MAX {
                        DeltaKey::new(before, interval.min(SPACING_MAX) as u8)
                    } else {
                        source(DeltaKey::new(before, 1), changes, now, received)
                    };
                    self.find(context.world, slot, key);
                }
            }
        }
        self.wanted = wanted;
    }
}

impl ClientView {
    /// Lists the entities that are due, and finds or encodes their deltas.
    pub fn gather(&mut self, context: &SnapshotContext<'_>, deltas: &mut DeltaCache, gathered: &mut GatherBuffer) {
        self.begin(context, gathered);
        let rings = Rings::new(context, self.center, self.snapshots);
        let find = |slot, key| deltas.find(context.world, slot, key);
        match rings {
            Some(rings) => {
                self.find_slots(context, gathered);
                self.list_slots(context, gathered, |slot| rings.is_due(slot), find);
            }
            None if self.entities.is_crowded() => self.list_blocks(context, deltas, gathered),
            None => {
                self.find_slots(context, gathered);
                self.list_slots(context, gathered, |_| true, find);
            }
        }
        if gathered.bits > context.settings.bytes_max * 8 {
            gathered.unfold(deltas, &self.entities.visible);
        }
    }

    fn begin(&mut self, context: &SnapshotContext<'_>, gathered: &mut GatherBuffer) {
        if self.order == DeliveryOrder::Unordered {
            self.expire(context.world.tick(), context.settings.resend_ticks);
        }
        self.snapshots = self.snapshots.wrapping_add(1);
        gathered.due.clear();
        (gathered.bits, gathered.any_full, gathered.any_block) = (0, false, false);
    }

    /// Finds the visible slots that changed or wait, and the order of the code for their gaps. They no longer wait.
    fn find_slots(&mut self, context: &SnapshotContext<'_>, gathered: &mut GatherBuffer) {
        let ClientView { entities, waiting, .. } = self;
        let (changed, has_waiting) = (context.changed.words(), !waiting.is_empty());
        let visible = &entities.visible;
        let (slots, mut before, mut gaps) = (gathered.slots_for(visible.len()), 0, Gaps::default());
        for (word, seen) in visible.occupied() {
            let mut due = seen & changed.get(word).copied().unwrap_or(0);
            if has_waiting {
                due |= seen & waiting.words().get(word).copied().unwrap_or(0);
                waiting.remove_word(word, due);
            }
            let slot_word = SlotWord { word: word as u32, before, seen, due };
            slot_word.each(|slot, at| {
                slots[gaps.count as usize] = (slot, at);
                gaps.add(slot);
            });
            before += seen.count_ones();
        }
        gathered.slot_count = gaps.count as usize;
        gathered.gap_order = gaps.order();
    }

    /// Lists the entities of the slots that were found. Those for which `is_due` is false wait.
    #[inline(always)]
    fn list_slots(
        &mut self,
        context: &SnapshotContext<'_>,
        gathered: &mut GatherBuffer,
        is_due: impl Fn(u32) -> bool,
        mut find: impl FnMut(u32, DeltaKey) -> FoundDelta,
    ) {
        let (now, received) = (context.world.tick(), self.received);
        // No baseline has the highest tick.
        let recent = if now.0 - received.0 <= RECENT_TICKS_MAX { received } else { Tick(u32::MAX) };
        let keys = self.entities.keys.as_slice();
        let (mut cost, mut any_full) = (0, false);
        for &(slot, at) in &gathered.slots[..gathered.slot_count] {
            let mut key = keys[at as usize];
            // If the entity was in the last packet, no lookup is needed.
            if recent != key.base() {
                key = source(key, context.world.last_changes(slot), now, received);
            }
            if key.base() != Tick::ZERO && !is_due(slot) {
                self.waiting.insert(slot);
                continue;
            }
            let found = find(slot, key);
            if found.bits == 0 {
                // A lost change that a later packet brought.
                continue;
            }
            let due = DueEntity { slot, at, source: key.with_spacing(found.spacing), found };
            cost += due.cost();
            any_full |= found.full;
            gathered.due.push(due);
        }
        gathered.bits += cost;
        gathered.any_full |= any_full;
    }

    /// Lists the visible slots that changed or wait. Those of a word are one block if another client needs the same.
    #[inline(never)]
    fn list_blocks(&mut self, context: &SnapshotContext<'_>, deltas: &mut DeltaCache, gathered: &mut GatherBuffer) {
        self.find_words(context, gathered);
        let slot_words = std::mem::take(&mut gathered.slot_words);
        for group in slot_words.chunk_by(|a, b| a.word / GROUP_WORDS == b.word / GROUP_WORDS) {
            self.list_group(group, context, deltas, gathered);
        }
        gathered.slot_words = slot_words;
    }

    /// Finds the words in which anything is due, and the order of the code for gaps, which blocks depend on.
    fn find_words(&mut self, context: &SnapshotContext<'_>, gathered: &mut GatherBuffer) {
        let changed = context.changed.words();
        let waiting = if self.waiting.is_empty() { &[] } else { self.waiting.words() };
        gathered.slot_words.clear();
        let visible = &self.entities.visible;
        if visible.words().len() > gathered.word_widths.len() {
            gathered.word_widths.resize(visible.words().len(), (0, 0));
        }
        let (mut before, mut gaps) = (0, Gaps::default());
        for (word, seen) in visible.occupied() {
            let due = seen & (changed.get(word).unwrap_or(&0) | waiting.get(word).unwrap_or(&0));
            if due != 0 {
                gathered.slot_words.push(SlotWord { word: word as u32, before, seen, due });
                gaps.add_word(word as u32, due, gathered.gap_widths(word, due));
            }
            before += seen.count_ones();
        }
        gathered.gap_order = gaps.order();
    }

    /// Reuses the block of another client with the same request, or adds one for later clients.
    fn list_group(
        &mut self,
        group: &[SlotWord],
        context: &SnapshotContext<'_>,
        deltas: &mut DeltaCache,
        gathered: &mut GatherBuffer,
    ) {
        let is_shared = group.iter().map(|word| word.due.count_ones()).sum::<u32>() >= DUE_MIN;
        let request = BlockRequest::new(group, &self.entities.keys, self.received, gathered.gap_order);
        if is_shared && let Some(number) = deltas.blocks.find(&request) {
            let block = deltas.blocks.at(number);
            gathered.bits += block.cost;
            let found = FoundDelta { range: number, ..FoundDelta::default() };
            gathered.due.push(DueEntity { found, ..block.start });
            gathered.any_block = true;
            if !self.waiting.is_empty() {
                group.iter().for_each(|word| self.waiting.remove_word(word.word as usize, word.due));
            }
            return;
        }
        let first = gathered.due.len();
        for &word in group {
            self.list_word(word, context, deltas, gathered);
        }
        if is_shared {
            let request = BlockRequest::new(group, &self.entities.keys, self.received, gathered.gap_order);
            let mut blocks = std::mem::take(&mut deltas.blocks);
            blocks.add(&request, &gathered.due[first..], deltas);
            deltas.blocks = blocks;
        }
    }

    /// Lists the due entities of a word, one by one.
    fn list_word(
        &mut self,
        slot_word: SlotWord,
        context: &SnapshotContext<'_>,
        deltas: &mut DeltaCache,
        gathered: &mut GatherBuffer,
    ) {
        self.waiting.remove_word(slot_word.word as usize, slot_word.due);
        let (slots, mut count) = (gathered.slots_for(u64::BITS as usize), 0);
        slot_word.each(|slot, at| {
            slots[count] = (slot, at);
            count += 1;
        });
        gathered.slot_count = count;
        self.list_slots(context, gathered, |_| true, |slot, key| deltas.find(context.world, slot, key));
    }

    /// Limits the due entities to the most urgent within the byte budget. The rest waits and gains urgency.
    pub(crate) fn choose(&mut self, context: &SnapshotContext<'_>, gathered: &mut GatherBuffer) {
        gathered.urgency.clear();
        for (index, due) in gathered.due.iter().enumerate() {
            let urgency = self.entities.priority[due.at as usize] + self.urgency(context, due);
            self.entities.priority[due.at as usize] = urgency;
            gathered.urgency.push((urgency, index as u32));
        }
        gathered.urgency.sort_unstable_by(most_urgent_first);
        let chosen = gathered.fitting(context);
        self.was_over_budget |= chosen < gathered.urgency.len();
        for &(_, index) in &gathered.urgency[chosen..] {
            let due = &mut gathered.due[index as usize];
            self.waiting.insert(due.slot);
            due.found.bits = 0;
        }
        gathered.due.retain(|due| due.found.bits > 0);
    }

    fn urgency(&self, context: &SnapshotContext<'_>, due: &DueEntity) -> f32 {
        if self.focus.is_some() && self.focus == context.world.entity_at(due.slot) {
            return URGENCY_FOCUS;
        }
        let nearness = match (self.center, context.world.position_at(due.slot)) {
            (Some(center), Some(place)) => {
                let distance = aether_space::distance_squared(center, place[0], place[1]).sqrt();
                (DISTANCE_HALF / (DISTANCE_HALF + distance)).max(URGENCY_MIN)
            }
            _ => 1.0,
        };
        if due.source.base() == Tick::ZERO { nearness * URGENCY_NEW } else { nearness }
    }
}

/// Gaps between due slots, for the code that they are written with.
#[derive(Default)]
struct Gaps {
    next: u32,
    count: u32,
    widths: u32,
}

impl Gaps {
    #[inline(always)]
    fn add(&mut self, slot: u32) {
        self.widths += width(slot - self.next);
        self.next = slot + 1;
        self.count += 1;
    }

    /// Adds the slots of a word, whose gaps among each other have this sum of widths.
    #[inline(always)]
    fn add_word(&mut self, word: u32, slots: u64, widths: u32) {
        self.widths += width(word * 64 + slots.trailing_zeros() - self.next) + widths;
        self.next = word * 64 + slots.ilog2() + 1;
        self.count += slots.count_ones();
    }

    /// Estimate of the order that gives the shortest code: one below the mean width of the gaps.
    fn order(&self) -> u32 {
        (self.widths / self.count.max(1)).saturating_sub(1).min(GAP_ORDER_MAX)
    }
}

/// Distance at which an entity is half as urgent.
const DISTANCE_HALF: f32 = 50.0;
/// Typical upper bound of the bits of a slot's gap and source. If the sum with it exceeds the budget, the exact size is
/// computed.
const PREFIX_BITS_TYPICAL: usize = 14;

/// Age up to which a baseline and the state before it are certainly stored.
const RECENT_TICKS_MAX: u32 = BASELINE_AGE_MAX - SPACING_MAX;

/// Ticks without change after which an entity counts as at rest. Below it, the entity may change in steps.
const STEP_TICKS_MAX: u32 = 16;

/// Returns the states from which an update is made.
///
/// The client has the state of tick `base`, and of `spacing` ticks before it. If nothing changed since, that is also
/// the state of later ticks, up to `received`, the newest tick of which the client has anything. Naming that tick says
/// that the entity rested, and most entities and clients share it.
#[inline(never)]
fn source(known: DeltaKey, changes: LastChanges, now: Tick, received: Tick) -> DeltaKey {
    let base = known.base();
    let rested = received.min(changes.steady_until(base));
    let aligned = base != Tick::ZERO && rested > base && (now.0 - base.0 > STEP_TICKS_MAX || rested.0 - base.0 == 1);
    let key = if aligned { DeltaKey::new(rested, 1) } else { known };
    // The client stores states only for this time.
    let age = now.0 - key.base().0;
    if age + u32::from(key.spacing()) <= BASELINE_AGE_MAX {
        key
    } else if age <= BASELINE_AGE_MAX {
        key.with_spacing(0)
    } else {
        DeltaKey::default()
    }
}

/// Returns the sum of the widths of the gaps between the slots of a word.
#[inline]
fn gap_widths(slots: u64) -> u32 {
    let (mut last, mut bits) = (slots.trailing_zeros(), slots & slots.wrapping_sub(1));
    let mut widths = 0;
    while bits != 0 {
        let slot = bits.trailing_zeros();
        bits &= bits - 1;
        widths += width(slot - last - 1);
        last = slot;
    }
    widths
}

/// Returns the number of bits of a gap, without its highest.
#[inline]
fn width(gap: u32) -> u32 {
    // The lowest bit does not change the logarithm; with it, the compiler knows that there is one.
    ((gap + 1) | 1).ilog2()
}

fn most_urgent_first(a: &(f32, u32), b: &(f32, u32)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}
