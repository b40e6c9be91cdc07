//! What is due for a client in a snapshot.

use crate::view::{Frame, View};
use crate::{BASELINE_AGE_MAX, Deltas, Link, SendSettings};
use aether_bits::BitWriter;
use aether_wire::Tick;
use std::cmp::Ordering;

/// What is due for one client, and scratch memory. One can serve many views, one after the other.
#[derive(Debug, Default)]
pub struct Gathered {
    /// In ascending order of slots.
    pub(crate) due: Vec<Due>,
    pub(crate) writer: BitWriter,
    /// How often each range was sent.
    pub(crate) uses: Vec<u32>,
    urgency: Vec<(f32, u32)>,
}

/// One entity that is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    pub slot: u32,
    /// Its position in the roster.
    pub at: u32,
    pub base: Tick,
    pub range: u32,
}

/// An entity's urgency grows by this much each snapshot even at the edge of sight, so that nothing starves.
const URGENCY_MIN: f32 = 0.05;
/// What the client does not know at all goes before what it knows in an older version.
const URGENCY_NEW: f32 = 4.0;
/// The player's own entity goes before everything.
const URGENCY_FOCUS: f32 = 1e9;

impl Gathered {
    /// How often each range was sent, for [`Deltas::charge`].
    #[must_use]
    pub fn uses(&self) -> &[u32] {
        &self.uses
    }

    /// Forgets the counts of [`Gathered::uses`], for a new snapshot.
    pub fn begin(&mut self) {
        self.uses.clear();
    }
}

impl View {
    /// Lists the entities whose state the client lacks and whose turn it is.
    pub fn gather(&mut self, frame: &Frame<'_>, gathered: &mut Gathered) {
        if self.link == Link::Unordered {
            self.expire(Tick(
                frame
                    .world
                    .tick()
                    .0
                    .saturating_sub(frame.settings.resend_ticks),
            ));
        }
        gathered.due.clear();
        let rings = Rings::new(frame, self.center);
        let visible = self.roster.visible.words();
        let changed = frame.changed.words();
        let waiting = self.waiting.words();
        let mut before = 0;
        for (word, &seen) in visible.iter().enumerate() {
            let mut bits =
                seen & (changed.get(word).unwrap_or(&0) | waiting.get(word).unwrap_or(&0));
            while bits != 0 {
                let bit = bits & bits.wrapping_neg();
                bits ^= bit;
                let slot = word as u32 * 64 + bit.trailing_zeros();
                let at = before + (seen & (bit - 1)).count_ones();
                gathered.due.push(Due {
                    slot,
                    at,
                    base: self.base(at as usize, frame.world.tick()),
                    range: 0,
                });
            }
            before += seen.count_ones();
        }
        if let Some(rings) = rings {
            gathered.due.retain(|due| {
                let turn = due.base == Tick::ZERO || rings.is_turn(due.slot);
                if !turn {
                    self.waiting.insert(due.slot);
                }
                turn
            });
        }
    }

    /// Finds or encodes the difference for everything that is due.
    pub fn resolve(&mut self, frame: &Frame<'_>, deltas: &mut Deltas, gathered: &mut Gathered) {
        let mut empty = false;
        for due in &mut gathered.due {
            due.range = deltas.range(frame.world, due.slot, due.base);
            empty |= deltas.at(due.range).bits == 0;
        }
        if empty {
            // It was lost, but a later packet brought it.
            gathered.due.retain(|due| {
                let something = deltas.at(due.range).bits > 0;
                if !something {
                    self.waiting.remove(due.slot);
                }
                something
            });
        }
    }

    /// Keeps what is most urgent within the byte budget; the rest waits, and grows more urgent.
    pub(crate) fn choose(&mut self, frame: &Frame<'_>, deltas: &Deltas, gathered: &mut Gathered) {
        let budget_bits = frame.settings.bytes_max * 8;
        let cost = |due: &Due| usize::from(deltas.at(due.range).bits) + GAP_BITS_TYPICAL;
        if gathered.due.iter().map(cost).sum::<usize>() <= budget_bits {
            return;
        }
        gathered.urgency.clear();
        for (index, due) in gathered.due.iter().enumerate() {
            let urgency = self.roster.priority[due.at as usize] + self.urgency(frame, due);
            self.roster.priority[due.at as usize] = urgency;
            gathered.urgency.push((urgency, index as u32));
        }
        gathered.urgency.sort_unstable_by(most_urgent_first);
        let mut left = budget_bits;
        let mut chosen = 0;
        for &(_, index) in &gathered.urgency {
            let cost = cost(&gathered.due[index as usize]);
            if cost > left {
                break;
            }
            left -= cost;
            chosen += 1;
        }
        for &(_, index) in &gathered.urgency[..chosen] {
            self.roster.priority[gathered.due[index as usize].at as usize] = 0.0;
        }
        for &(_, index) in &gathered.urgency[chosen..] {
            let due = &mut gathered.due[index as usize];
            self.waiting.insert(due.slot);
            due.range = u32::MAX;
        }
        gathered.due.retain(|due| due.range != u32::MAX);
    }

    /// The tick whose state the client certainly still has.
    #[inline]
    fn base(&self, at: usize, now: Tick) -> Tick {
        let base = self.roster.base[at];
        // Once something newer is under way, the client keeps the old state only for so long.
        let kept = now.since(base) <= BASELINE_AGE_MAX;
        if kept || self.link == Link::Ordered {
            base
        } else {
            Tick::ZERO
        }
    }

    fn urgency(&self, frame: &Frame<'_>, due: &Due) -> f32 {
        if self.focus.is_some_and(|focus| focus.slot == due.slot) {
            return URGENCY_FOCUS;
        }
        let nearness = match (self.center, frame.world.place_at(due.slot)) {
            (Some(center), Some(place)) => {
                let distance = aether_space::distance_squared(center, place[0], place[1]).sqrt();
                (DISTANCE_HALF / (DISTANCE_HALF + distance)).max(URGENCY_MIN)
            }
            _ => 1.0,
        };
        if due.base == Tick::ZERO {
            nearness * URGENCY_NEW
        } else {
            nearness
        }
    }
}

/// At this distance an entity is half as urgent as one right here.
const DISTANCE_HALF: f32 = 50.0;
/// What a slot's gap and baseline usually take, for the budget.
const GAP_BITS_TYPICAL: usize = 7;

fn most_urgent_first(a: &(f32, u32), b: &(f32, u32)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

/// Tells whose turn it is by distance.
struct Rings<'a> {
    frame: &'a Frame<'a>,
    settings: &'a SendSettings,
    center: [f32; 2],
}

impl<'a> Rings<'a> {
    fn new(frame: &'a Frame<'a>, center: Option<[f32; 2]>) -> Option<Self> {
        let settings = frame.settings;
        let throttled =
            settings.rings.iter().any(|ring| ring.interval > 1) || frame.ring_stretch > 1;
        if settings.rings.is_empty() || !throttled {
            return None;
        }
        Some(Rings {
            frame,
            settings,
            center: center?,
        })
    }

    /// Slots take turns, so that a ring's updates spread evenly over the snapshots.
    fn is_turn(&self, slot: u32) -> bool {
        let Some([x, y]) = self.frame.world.place_at(slot) else {
            return true;
        };
        let distance_squared = aether_space::distance_squared(self.center, x, y);
        let rings = &self.settings.rings;
        let within = rings
            .iter()
            .position(|ring| distance_squared <= ring.distance * ring.distance);
        let number = within.unwrap_or(rings.len() - 1);
        // The nearest ring keeps its rate under overload: what is close is what the player looks at.
        let stretch = if number == 0 {
            1
        } else {
            self.frame.ring_stretch
        };
        let interval = (rings[number].interval * stretch).max(1);
        self.frame
            .snapshot
            .wrapping_add(slot)
            .is_multiple_of(interval)
    }
}
