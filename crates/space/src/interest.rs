//! What a viewer sees, from tick to tick.

use crate::InterestChanges;
use crate::index::{PointRun, SpatialIndex, distance_squared};
use crate::settings::{InterestSettings, InterestSettingsError};
use crate::slot_set::{SlotSet, occupied_words, place, words_for_slots};

/// One viewer, for one update.
#[derive(Clone, Copy, Debug)]
pub struct Viewer<'a> {
    /// Where the viewer looks from. Without a place it sees nothing but `always`.
    pub center: Option<[f32; 2]>,
    /// The slots it sees wherever they are: entities without a place, and its own.
    pub always: &'a SlotSet,
    /// The slots that the game hides from it. They also win over `always`.
    pub hidden: &'a SlotSet,
}

/// Updates the sets of what viewers see.
///
/// An entity comes into view at `radius` or nearer and leaves beyond `radius * (1 + hysteresis)`.
/// Put another way: one that is already in view counts as nearer by that factor. The cap of
/// `nearest_max` ranks entities by the same measure, so a crowd at the edge of the cap does not
/// flicker either. What is in `always` does not count against the cap; what is in `hidden` is taken
/// out before it.
///
/// The struct holds only settings and scratch memory: one serves all viewers of a room, one after
/// the other. What belongs to a viewer is the `visible` set that it passes in and gets back.
///
/// A slot whose entity was replaced by another since the last update is, to this struct, the same
/// slot: the caller takes it out of `visible` first if the viewer has to learn about it.
#[derive(Clone, Debug)]
pub struct InterestManager {
    settings: InterestSettings,
    reach: Reach,
    /// The bits of the next visible set; all zero between updates.
    next: Vec<u64>,
    /// The candidates for the cap, each a distance and a slot.
    candidates: Vec<u64>,
}

impl InterestManager {
    /// Checks the settings and starts without scratch memory.
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

    /// The settings in use.
    pub fn settings(&self) -> &InterestSettings {
        &self.settings
    }

    /// Brings `visible` up to date with the index, and tells in `changes` what entered and left.
    pub fn update(
        &mut self,
        index: &impl SpatialIndex,
        viewer: &Viewer<'_>,
        visible: &mut SlotSet,
        changes: &mut InterestChanges,
    ) {
        let words = words_for_slots(index.slot_end()).max(viewer.always.words().len());
        self.make_room(words, visible);
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

    /// Brings `visible` up to date in a room without radius: everyone who is not hidden.
    pub fn update_everyone(
        &mut self,
        everyone: &SlotSet,
        hidden: &SlotSet,
        visible: &mut SlotSet,
        changes: &mut InterestChanges,
    ) {
        self.make_room(everyone.words().len(), visible);
        self.next[..everyone.words().len()].copy_from_slice(everyone.words());
        self.hide(hidden);
        visible.replace(&mut self.next, changes);
    }

    /// Makes the scratch memory and the visible set equally long, at least this many words.
    fn make_room(&mut self, words: usize, visible: &mut SlotSet) {
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

    /// Marks everything in view. It stays a function of its own, so that its loop has all registers
    /// to itself.
    #[inline(never)]
    fn mark_all(&mut self, index: &impl SpatialIndex, center: [f32; 2], visible: &SlotSet) {
        let reach = self.reach;
        let previous = visible.words();
        let next = &mut self.next[..];
        index.visit_runs(center, reach.outer, |run| {
            reach.mark(center, run, previous, next);
        });
    }

    /// Marks the nearest `count` of what is in view.
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
                // Every point goes in and most are taken back, without a branch; see `mark`.
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
            let (word, bit) = place(*candidate as u32);
            self.next[word] |= bit;
        }
    }
}

/// A distance and a slot as one number, which orders by distance first. The bits of floats that are
/// not negative order like the floats.
fn candidate(distance_squared: f32, slot: u32) -> u64 {
    u64::from(distance_squared.to_bits()) << 32 | u64::from(slot)
}

/// The distances that decide who is in view.
#[derive(Clone, Copy, Debug)]
struct Reach {
    inner_squared: f32,
    outer: f32,
    outer_squared: f32,
    /// What the squared distance of an entity that is already in view counts for.
    nearer_factor: f32,
}

impl Reach {
    /// The squared distance by which the cap ranks an entity, and whether it is in view at all.
    #[inline]
    fn measure(&self, distance_squared: f32, was_visible: bool) -> (f32, bool) {
        let (limit, factor) =
            if was_visible { (self.outer_squared, self.nearer_factor) } else { (self.inner_squared, 1.0) };
        (distance_squared * factor, distance_squared <= limit)
    }

    /// Marks in `next` what of a run is in view, given what was in view before.
    ///
    /// There is no branch on the distance: about half of the points of a run near the border are
    /// inside, so a branch would often be guessed wrongly, and that costs more than the work.
    #[inline]
    fn mark(&self, center: [f32; 2], run: PointRun<'_>, previous: &[u64], next: &mut [u64]) {
        for ((&x, &y), &slot) in run.x.iter().zip(run.y).zip(run.slot) {
            let distance_squared = distance_squared(center, x, y);
            let (word, shift) = (slot as usize / 64, slot % 64);
            let enters = u64::from(distance_squared <= self.inner_squared);
            let stays = u64::from(distance_squared <= self.outer_squared);
            let was = previous[word] >> shift;
            next[word] |= (enters | (stays & was)) << shift;
        }
    }
}
