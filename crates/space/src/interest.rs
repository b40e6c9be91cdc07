//! Interest sets: the entities that each viewer sees.

use crate::InterestChanges;
use crate::index::{PointRun, SpatialIndex, distance_squared};
use crate::settings::{InterestSettings, InterestSettingsError};
use crate::slot_set::{SlotSet, occupied_words, word_and_bit, words_for_slots};

/// One viewer, for one update.
#[derive(Clone, Copy, Debug)]
pub struct Viewer<'a> {
    /// Position of the viewer. Without it, the viewer sees only `always`.
    pub center: Option<[f32; 2]>,
    /// Slots that are visible at any distance: entities without a position, and the possessed one.
    pub always: &'a SlotSet,
    /// Slots that the game hides from the viewer. They have precedence over `always`.
    pub hidden: &'a SlotSet,
}

/// Updates the visible sets of viewers.
///
/// An entity becomes visible at `radius` or nearer, and is no longer visible beyond `radius * (1 + hysteresis)`. In
/// other words, a visible entity counts as nearer by that factor. The limit `nearest_max` ranks entities by the same
/// measure, so entities at the limit do not flicker in a crowd. Slots in `always` do not count against the limit; slots
/// in `hidden` are removed before it applies.
///
/// The struct has only settings and scratch memory, so one serves all viewers of a room in turn. The caller stores the
/// `visible` set of each viewer.
///
/// If another entity took a slot since the last update, the slot stays the same here. The caller removes it from
/// `visible` first, so that it enters again.
#[derive(Clone, Debug)]
pub struct InterestManager {
    settings: InterestSettings,
    reach: Reach,
    /// Bits of the next visible set. All zero between updates.
    next: Vec<u64>,
    /// Candidates for the limit: distance and slot of each.
    candidates: Vec<u64>,
}

impl InterestManager {
    /// Checks the settings, and allocates nothing yet.
    pub fn new(settings: InterestSettings) -> Result<Self, InterestSettingsError> {
        settings.validate()?;
        let outer = settings.outer_radius();
        Ok(Self {
            settings,
            reach: Reach {
                inner_squared: settings.radius * settings.radius,
                outer,
                outer_squared: outer * outer,
                nearer_factor: (settings.radius * settings.radius) / (outer * outer),
            },
            next: Vec::new(),
            candidates: Vec::new(),
        })
    }

    /// Settings in use.
    pub fn settings(&self) -> &InterestSettings {
        &self.settings
    }

    /// Updates `visible` from the index, and writes the difference into `changes`.
    pub fn update(
        &mut self,
        index: &impl SpatialIndex,
        viewer: &Viewer<'_>,
        visible: &mut SlotSet,
        changes: &mut InterestChanges,
    ) {
        let words = words_for_slots(index.slot_end()).max(viewer.always.words().len());
        self.grow_to(words, visible);
        if let Some(center) = viewer.center {
            match self.settings.nearest_max {
                None => self.mark_all(index, center, visible),
                Some(count) => self.mark_nearest(index, center, viewer, visible, count),
            }
        }
        for (word, bits) in occupied_words(viewer.always) {
            self.next[word] |= bits;
        }
        self.hide(viewer.hidden);
        visible.replace(&mut self.next, changes);
    }

    /// Updates `visible` in a room without a radius: every slot that is not hidden is visible.
    pub fn update_everyone(
        &mut self,
        everyone: &SlotSet,
        hidden: &SlotSet,
        visible: &mut SlotSet,
        changes: &mut InterestChanges,
    ) {
        self.grow_to(everyone.words().len(), visible);
        self.next[..everyone.words().len()].copy_from_slice(everyone.words());
        self.hide(hidden);
        visible.replace(&mut self.next, changes);
    }

    /// Grows the scratch memory and the visible set to the same length, at least `words` words.
    fn grow_to(&mut self, words: usize, visible: &mut SlotSet) {
        visible.reserve_words(words);
        self.next.resize(visible.words().len(), 0);
    }

    fn hide(&mut self, hidden: &SlotSet) {
        for (word, bits) in occupied_words(hidden) {
            if let Some(next) = self.next.get_mut(word) {
                *next &= !bits;
            }
        }
    }

    /// Marks all visible entities. A separate function leaves all registers to its loop.
    #[inline(never)]
    fn mark_all(&mut self, index: &impl SpatialIndex, center: [f32; 2], visible: &SlotSet) {
        let reach = self.reach;
        let previous = visible.words();
        let next = &mut self.next[..];
        index.visit_runs(center, reach.outer, |run| {
            reach.mark(center, run, previous, next);
        });
    }

    /// Marks the nearest `count` visible entities.
    #[inline(never)]
    fn mark_nearest(
        &mut self,
        index: &impl SpatialIndex,
        center: [f32; 2],
        viewer: &Viewer<'_>,
        visible: &SlotSet,
        count: usize,
    ) {
        let reach = self.reach;
        let candidates = &mut self.candidates;
        candidates.clear();
        index.visit_runs(center, reach.outer, |run| {
            for ((&x, &y), &slot) in run.x.iter().zip(run.y).zip(run.slot) {
                let distance_squared = distance_squared(center, x, y);
                let (measure, is_in_view) = reach.measure(distance_squared, visible.contains(slot));
                let is_free = !viewer.hidden.contains(slot) & !viewer.always.contains(slot);
                // Every point is added and most are removed again, without a branch; see `mark`.
                let count = candidates.len() + usize::from(is_in_view & is_free);
                candidates.push(candidate(measure, slot));
                candidates.truncate(count);
            }
        });
        if count < candidates.len() {
            candidates.select_nth_unstable(count);
            candidates.truncate(count);
        }
        for candidate in candidates {
            let (word, bit) = word_and_bit(*candidate as u32);
            self.next[word] |= bit;
        }
    }
}

/// Returns distance and slot as one number, which orders by distance first. The bits of non-negative floats have the
/// order of the floats.
fn candidate(distance_squared: f32, slot: u32) -> u64 {
    u64::from(distance_squared.to_bits()) << 32 | u64::from(slot)
}

/// Squared distances that decide about visibility.
#[derive(Clone, Copy, Debug)]
struct Reach {
    inner_squared: f32,
    outer: f32,
    outer_squared: f32,
    /// Factor on the squared distance of a visible entity.
    nearer_factor: f32,
}

impl Reach {
    /// Returns the squared distance by which the limit ranks an entity, and true if the entity is in range.
    #[inline]
    fn measure(&self, distance_squared: f32, was_visible: bool) -> (f32, bool) {
        let (limit, factor) =
            if was_visible { (self.outer_squared, self.nearer_factor) } else { (self.inner_squared, 1.0) };
        (distance_squared * factor, distance_squared <= limit)
    }

    /// Marks the visible points of a run in `next`, given the previously visible ones.
    ///
    /// There is no branch on the distance: about half of the points of a run near the border are inside, so a branch
    /// would often be mispredicted, which costs more than the work.
    #[inline]
    fn mark(&self, center: [f32; 2], run: PointRun<'_>, previous: &[u64], next: &mut [u64]) {
        let limits = [self.inner_squared, self.outer_squared];
        // The same length, so that one check of a bound serves both.
        let next = &mut next[..previous.len()];
        for ((&x, &y), &slot) in run.x.iter().zip(run.y).zip(run.slot) {
            let (word, shift) = (slot as usize / 64, slot % 64);
            let limit = limits[(previous[word] >> shift & 1) as usize];
            next[word] |= u64::from(distance_squared(center, x, y) <= limit) << shift;
        }
    }
}
