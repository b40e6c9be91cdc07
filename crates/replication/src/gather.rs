//! What is due for a client in a snapshot.

use crate::blocks::{DUE_MIN, Want};
use crate::deltas::{DeltaKey, FoundDelta};
use crate::packet::{self, DeltaSource, GAP_ORDER_MAX, SPACING_MAX};
use crate::view::{ClientView, SnapshotContext};
use crate::{BASELINE_AGE_MAX, DeliveryOrder, DeltaCache, SendSettings};
use aether_bits::BitWriter;
use aether_space::SlotSet;
use aether_wire::Tick;
use aether_wire::limits::STATE_PACKET_BYTES_MAX;
use aether_world::LastChanges;
use std::cmp::Ordering;

/// What is due for one client, and scratch memory. One can serve many views, one after the other.
#[derive(Debug, Default)]
pub struct GatherBuffer {
    /// In ascending order of slots.
    pub(crate) due: Vec<DueEntity>,
    pub(crate) writer: BitWriter,
    /// How often each range was sent by itself, and each block.
    pub(crate) uses: Vec<u32>,
    pub(crate) block_uses: Vec<u32>,
    urgency: Vec<(f32, u32)>,
    /// Scratch memory: what was due before blocks were listed one by one.
    folded: Vec<DueEntity>,
    /// The stretches of 64 slots in which something is due.
    stretches: Vec<Stretch>,
    /// Scratch memory: one bit per slot.
    words: Vec<u64>,
    /// The order of the code for gaps.
    pub(crate) gap_order: u32,
    /// What everything due will take, about.
    bits: usize,
    /// Whether anything due is a whole entity.
    pub(crate) any_full: bool,
}

/// 64 slots, some of which are due.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    word: u32,
    /// Where it begins in the roster.
    before: u32,
    /// The slots that the client sees.
    seen: u64,
    /// Those of them that are due.
    due: u64,
}

/// One entity that is due; or a block of them, and then `found.range` is its number and `found.bits` is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DueEntity {
    pub slot: u32,
    /// Its position in the roster; of a block, that of the first slot of its stretch.
    pub at: u32,
    pub base: Tick,
    pub found: FoundDelta,
}

impl DueEntity {
    pub fn is_block(&self) -> bool {
        self.found.bits == 0
    }

    /// What it counts against the budget before anything exact is known. It is the same on every way to a packet, so that
    /// the same things are chosen whether or not they were shared.
    pub fn cost(&self) -> usize {
        usize::from(self.found.bits) + PREFIX_BITS_TYPICAL
    }

    /// From which states the update is made.
    pub fn source(&self, now: Tick) -> DeltaSource {
        DeltaSource { age: now.0 - self.base.0, spacing: u32::from(self.found.spacing) }
    }
}

/// An entity's urgency grows by this much each snapshot even at the edge of sight, so that nothing starves.
const URGENCY_MIN: f32 = 0.05;
/// What the client does not know at all goes before what it knows in an older version.
const URGENCY_NEW: f32 = 4.0;
/// The player's own entity goes before everything.
const URGENCY_FOCUS: f32 = 1e9;

impl GatherBuffer {
    /// How many of the most urgent fit the budget; at least one, so that the largest entity arrives some day too.
    fn fitting(&mut self, frame: &SnapshotContext<'_>) -> usize {
        let budget_bits = frame.settings.bytes_max * 8;
        let mut count = self.urgency.len();
        loop {
            let bits = self.packed_bits(count, frame.world.tick());
            if bits <= budget_bits || count <= 1 {
                return count;
            }
            // Fewer entities have wider gaps, so this closes in from above.
            count = (count * budget_bits / bits).clamp(1, count - 1);
        }
    }

    /// How many bits the packets of the `count` most urgent take, headers included.
    fn packed_bits(&mut self, count: usize, now: Tick) -> usize {
        self.words.clear();
        self.words.resize(self.due.last().map_or(0, |due| due.slot as usize / 64 + 1), 0);
        for &(_, index) in &self.urgency[..count] {
            let slot = self.due[index as usize].slot as usize;
            self.words[slot / 64] |= 1 << (slot % 64);
        }
        let (mut bits, mut next, mut source) = (0, 0, DeltaSource::default());
        for due in &self.due {
            if self.words[due.slot as usize / 64] >> (due.slot % 64) & 1 == 1 {
                bits += packet::gap_code(due.slot - next, self.gap_order).1 as usize + usize::from(due.found.bits);
                next = due.slot + 1;
                if !due.found.full {
                    let same = due.source(now) == source;
                    bits += if same { 1 } else { source.code().1 as usize };
                    source = due.source(now);
                }
            }
        }
        // Every packet has a header, and names its first slot and source anew.
        let packets = bits / (STATE_PACKET_BYTES_MAX * 8) + 1;
        bits + packets * (packet::HEADER_BITS_MAX + packet::PREFIX_BITS_MAX as usize)
    }

    /// Lists the entities of blocks one by one, so that some can be left out.
    fn unfold(&mut self, deltas: &DeltaCache, visible: &SlotSet) {
        if !self.due.iter().any(DueEntity::is_block) {
            return;
        }
        std::mem::swap(&mut self.due, &mut self.folded);
        self.due.clear();
        for due in &self.folded {
            if due.is_block() {
                let block = deltas.blocks.at(due.found.range);
                let members = deltas.blocks.members(block).iter();
                self.due.extend(
                    members.map(|member| DueEntity { at: visible.count_below(member.due.slot) as u32, ..member.due }),
                );
            } else {
                self.due.push(*due);
            }
        }
    }

    /// Forgets what was sent, for a new snapshot.
    pub fn begin(&mut self) {
        self.uses.clear();
        self.block_uses.clear();
    }
}

impl DeltaCache {
    /// Encodes beforehand, in the order of their slots, what most of these clients will need. Memory is then read in one
    /// sweep, instead of here and there as one client after the other asks for it.
    pub fn encode_ahead<'v>(&mut self, frame: &SnapshotContext<'_>, views: impl Iterator<Item = &'v ClientView> + Clone) {
        let now = frame.world.tick();
        let Some(received) = views.clone().map(|view| view.received).max() else { return };
        // Too early, nobody has two states yet.
        if received.0 <= SPACING_MAX || received == now {
            return;
        }
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.clear();
        let (mut count, mut alike, mut others) = (0, 0, 0);
        for view in views {
            if view.received == received {
                wanted.union_with(&view.roster.visible);
                count += view.roster.visible.len();
                alike += 1;
            } else {
                others += 1;
            }
        }
        // Where hardly two clients need the same, nothing is gained.
        if count > 2 * wanted.len() && alike > 3 * others {
            for slot in wanted.intersection(frame.changed) {
                let changes = frame.world.last_changes(slot);
                let interval = now.0 - received.0;
                let spacing = if changes.before() == received { interval.min(SPACING_MAX) as u8 } else { 1 };
                let key = source((changes.before(), spacing), changes, now, received);
                self.find(frame.world, slot, key);
            }
        }
        self.wanted = wanted;
    }
}

impl ClientView {
    /// Lists the entities whose state the client lacks and whose turn it is, and finds or encodes their differences.
    pub fn gather(&mut self, frame: &SnapshotContext<'_>, deltas: &mut DeltaCache, gathered: &mut GatherBuffer) {
        self.prepare(frame, gathered);
        let rings = Rings::new(frame, self.center, self.snapshots);
        for index in 0..gathered.stretches.len() {
            let stretch = gathered.stretches[index];
            if stretch.due.count_ones() >= DUE_MIN && rings.is_none() {
                self.list_block(stretch, frame, deltas, gathered);
            } else {
                let find = |slot, key| deltas.find(frame.world, slot, key);
                self.list(stretch, frame, (rings.as_ref(), gathered), find);
            }
        }
        if gathered.bits > frame.settings.bytes_max * 8 {
            gathered.unfold(deltas, &self.roster.visible);
        }
    }

    /// The first half of [`ClientView::gather`], which views can do side by side: lists what is due.
    pub fn survey(&mut self, frame: &SnapshotContext<'_>, gathered: &mut GatherBuffer) {
        self.prepare(frame, gathered);
        let rings = Rings::new(frame, self.center, self.snapshots);
        for index in 0..gathered.stretches.len() {
            let find = |_, DeltaKey { spacing, .. }| FoundDelta { bits: 1, spacing, ..FoundDelta::default() };
            self.list(gathered.stretches[index], frame, (rings.as_ref(), gathered), find);
        }
    }

    /// The second half of [`ClientView::gather`], one view after the other: finds or encodes the differences.
    pub fn resolve(&mut self, frame: &SnapshotContext<'_>, deltas: &mut DeltaCache, gathered: &mut GatherBuffer) {
        let GatherBuffer { due, bits, any_full, .. } = gathered;
        (*bits, *any_full) = (0, false);
        due.retain_mut(|due| {
            due.found = deltas.find(frame.world, due.slot, DeltaKey { base: due.base, spacing: due.found.spacing });
            if due.found.bits == 0 {
                self.waiting.remove(due.slot);
                return false;
            }
            *bits += due.cost();
            *any_full |= due.found.full;
            true
        });
    }

    /// Finds which visible slots changed or wait.
    fn prepare(&mut self, frame: &SnapshotContext<'_>, gathered: &mut GatherBuffer) {
        if self.link == DeliveryOrder::Unordered {
            self.expire(frame.world.tick(), frame.settings.resend_ticks);
        }
        self.snapshots = self.snapshots.wrapping_add(1);
        gathered.due.clear();
        (gathered.bits, gathered.any_full) = (0, false);
        let (changed, waiting) = (frame.changed.words(), self.waiting.words());
        gathered.stretches.clear();
        let (mut next, mut count, mut widths) = (0, 0, 0);
        for (word, seen) in self.roster.visible.occupied() {
            let due = seen & (changed.get(word).unwrap_or(&0) | waiting.get(word).unwrap_or(&0));
            if due == 0 {
                continue;
            }
            let word = word as u32;
            let before = self.roster.visible.count_below(word * 64) as u32;
            gathered.stretches.push(Stretch { word, before, seen, due });
            let mut bits = due;
            while bits != 0 {
                let slot = word * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                widths += (slot - next + 1).ilog2();
                next = slot + 1;
                count += 1;
            }
        }
        // The order in which the code of these gaps is shortest, about: one below their mean width.
        gathered.gap_order = (widths / u32::max(count, 1)).saturating_sub(1).min(GAP_ORDER_MAX);
    }

    /// Takes what is due of a stretch from another client that needed the same, or leaves it for the next one.
    fn list_block(
        &mut self,
        stretch: Stretch,
        frame: &SnapshotContext<'_>,
        deltas: &mut DeltaCache,
        gathered: &mut GatherBuffer,
    ) {
        let Stretch { word, before, seen, due } = stretch;
        let (received, gap_order) = (self.received, gathered.gap_order);
        let (bases, spacings) = (self.roster.base.as_slice(), self.roster.spacing.as_slice());
        let want = Want { word, seen, due, before, bases, spacings, received, gap_order };
        if let Some(number) = deltas.blocks.find(&want) {
            let block = deltas.blocks.at(number);
            gathered.bits += block.cost;
            let base = Tick(frame.world.tick().0 - block.source.age);
            let spacing = block.source.spacing as u8;
            let found = FoundDelta { range: number, spacing, ..FoundDelta::default() };
            gathered.due.push(DueEntity { slot: word * 64 + due.trailing_zeros(), at: before, base, found });
            return;
        }
        let first = gathered.due.len();
        let find = |slot, key| deltas.find(frame.world, slot, key);
        self.list(stretch, frame, (None, gathered), find);
        let (bases, spacings) = (self.roster.base.as_slice(), self.roster.spacing.as_slice());
        let want = Want { word, seen, due, before, bases, spacings, received, gap_order };
        let mut blocks = std::mem::take(&mut deltas.blocks);
        blocks.keep(&want, &gathered.due[first..], deltas);
        deltas.blocks = blocks;
    }

    /// Lists what is due of a stretch, entity by entity.
    #[inline]
    fn list(
        &mut self,
        Stretch { word, before, seen, due: mut bits }: Stretch,
        frame: &SnapshotContext<'_>,
        (rings, gathered): (Option<&Rings<'_>>, &mut GatherBuffer),
        mut find: impl FnMut(u32, DeltaKey) -> FoundDelta,
    ) {
        let ClientView { roster, waiting, received, .. } = self;
        let now = frame.world.tick();
        while bits != 0 {
            let bit = bits & bits.wrapping_neg();
            bits ^= bit;
            let slot = word * 64 + bit.trailing_zeros();
            let at = before + (seen & (bit - 1)).count_ones();
            let known = (roster.base[at as usize], roster.spacing[at as usize]);
            // What changes all the time was in the last packet: there is nothing to look up.
            let key = match known {
                (base, spacing) if base == *received && now.0 - base.0 <= RECENT_TICKS_MAX => {
                    DeltaKey { base, spacing }
                }
                known => source(known, frame.world.last_changes(slot), now, *received),
            };
            if key.base != Tick::ZERO && rings.is_some_and(|rings| !rings.is_turn(slot)) {
                waiting.insert(slot);
                continue;
            }
            let found = find(slot, key);
            if found.bits == 0 {
                // It was lost, but a later packet brought it.
                waiting.remove(slot);
                continue;
            }
            let due = DueEntity { slot, at, base: key.base, found };
            gathered.bits += due.cost();
            gathered.any_full |= found.full;
            gathered.due.push(due);
        }
    }

    /// Keeps what is most urgent within the byte budget; the rest waits, and grows more urgent.
    pub(crate) fn choose(&mut self, frame: &SnapshotContext<'_>, gathered: &mut GatherBuffer) {
        if gathered.bits <= frame.settings.bytes_max * 8 {
            return;
        }
        gathered.urgency.clear();
        for (index, due) in gathered.due.iter().enumerate() {
            let urgency = self.roster.priority[due.at as usize] + self.urgency(frame, due);
            self.roster.priority[due.at as usize] = urgency;
            gathered.urgency.push((urgency, index as u32));
        }
        gathered.urgency.sort_unstable_by(most_urgent_first);
        let chosen = gathered.fitting(frame);
        self.pressed |= chosen < gathered.urgency.len();
        for &(_, index) in &gathered.urgency[chosen..] {
            let due = &mut gathered.due[index as usize];
            self.waiting.insert(due.slot);
            due.found.bits = 0;
        }
        gathered.due.retain(|due| due.found.bits > 0);
    }

    fn urgency(&self, frame: &SnapshotContext<'_>, due: &DueEntity) -> f32 {
        if self.focus.is_some() && self.focus == frame.world.entity_at(due.slot) {
            return URGENCY_FOCUS;
        }
        let nearness = match (self.center, frame.world.position_at(due.slot)) {
            (Some(center), Some(place)) => {
                let distance = aether_space::distance_squared(center, place[0], place[1]).sqrt();
                (DISTANCE_HALF / (DISTANCE_HALF + distance)).max(URGENCY_MIN)
            }
            _ => 1.0,
        };
        if due.base == Tick::ZERO { nearness * URGENCY_NEW } else { nearness }
    }
}

/// At this distance an entity is half as urgent as one right here.
const DISTANCE_HALF: f32 = 50.0;
/// What a slot's gap and source take at the most as a rule: above this sum the exact one is made.
const PREFIX_BITS_TYPICAL: usize = 14;

/// So recent a baseline, with the state before it, is certainly still kept.
const RECENT_TICKS_MAX: u32 = BASELINE_AGE_MAX - SPACING_MAX;

/// What changes in steps moves in between: it rests only when it has been still for longer than this.
const STEP_TICKS_MAX: u32 = 16;

/// From which states an update is made. The client is known to have the state of tick `base`, and of `spacing` ticks
/// before it. Where nothing changed since, that is the state of later ticks too, up to the newest of which the client is
/// known to have anything: naming that one tells that the entity rested, and most entities and clients share it.
#[inline]
fn source((base, spacing): (Tick, u8), changes: LastChanges, now: Tick, received: Tick) -> DeltaKey {
    let rested = received.min(changes.steady_until(base));
    let aligned = base != Tick::ZERO && rested > base && (now.0 - base.0 > STEP_TICKS_MAX || rested.0 - base.0 == 1);
    let key = if aligned { DeltaKey { base: rested, spacing: 1 } } else { DeltaKey { base, spacing } };
    // The client keeps states only for so long.
    let age = now.0 - key.base.0;
    if age + u32::from(key.spacing) <= BASELINE_AGE_MAX {
        key
    } else if age <= BASELINE_AGE_MAX {
        DeltaKey { spacing: 0, ..key }
    } else {
        DeltaKey::default()
    }
}

fn most_urgent_first(a: &(f32, u32), b: &(f32, u32)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

/// Tells whose turn it is by distance.
struct Rings<'a> {
    frame: &'a SnapshotContext<'a>,
    settings: &'a SendSettings,
    center: [f32; 2],
    /// The number of this snapshot for this client.
    snapshot: u32,
}

impl<'a> Rings<'a> {
    fn new(frame: &'a SnapshotContext<'a>, center: Option<[f32; 2]>, snapshot: u32) -> Option<Self> {
        let settings = frame.settings;
        let throttled = settings.rings.iter().any(|ring| ring.interval > 1) || frame.ring_stretch > 1;
        if settings.rings.is_empty() || !throttled {
            return None;
        }
        Some(Rings { frame, settings, center: center?, snapshot })
    }

    /// Slots take turns, so that a ring's updates spread evenly over the snapshots.
    fn is_turn(&self, slot: u32) -> bool {
        let Some([x, y]) = self.frame.world.position_at(slot) else {
            return true;
        };
        let distance_squared = aether_space::distance_squared(self.center, x, y);
        let rings = &self.settings.rings;
        let within = rings.iter().position(|ring| distance_squared <= ring.distance * ring.distance);
        let number = within.unwrap_or(rings.len() - 1);
        // The nearest ring keeps its rate under overload: what is close is what the player looks at.
        let stretch = if number == 0 { 1 } else { self.frame.ring_stretch };
        let interval = (rings[number].interval * stretch).max(1);
        self.snapshot.wrapping_add(slot).is_multiple_of(interval)
    }
}
