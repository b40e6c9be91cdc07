//! [`Rings`]: update rings of one client in one snapshot.

use crate::SendSettings;
use crate::view::SnapshotContext;

/// Decides by distance which slots are due in this snapshot.
pub(crate) struct Rings<'a> {
    context: &'a SnapshotContext<'a>,
    settings: &'a SendSettings,
    center: [f32; 2],
    /// Number of this snapshot for this client.
    snapshot: u32,
    /// A turn without any of these bits is a multiple of all intervals: such slots are due at any distance.
    turn_mask: u32,
}

impl<'a> Rings<'a> {
    pub fn new(context: &'a SnapshotContext<'a>, center: Option<[f32; 2]>, snapshot: u32) -> Option<Self> {
        let settings = context.settings;
        let throttled = settings.rings.iter().any(|ring| ring.interval > 1) || context.ring_stretch > 1;
        if settings.rings.is_empty() || !throttled {
            return None;
        }
        let intervals = settings.rings.iter().map(|ring| ring.interval.max(1));
        let common = intervals.fold(context.ring_stretch.max(1), |common, interval| {
            let interval = interval.saturating_mul(context.ring_stretch.max(1));
            if common.is_multiple_of(interval) { common } else { common.saturating_mul(interval) }
        });
        let turn_mask = if common.is_power_of_two() { common - 1 } else { u32::MAX };
        Some(Rings { context, settings, center: center?, snapshot, turn_mask })
    }

    /// Returns true if a slot is due. Slots take turns, so that the updates of a ring spread evenly over the snapshots.
    #[inline(always)]
    pub fn is_due(&self, slot: u32) -> bool {
        let turn = self.snapshot.wrapping_add(slot);
        turn & self.turn_mask == 0 || self.is_turn(turn, slot)
    }

    /// Returns true if it is the turn of a slot at its distance.
    #[inline(never)]
    fn is_turn(&self, turn: u32, slot: u32) -> bool {
        let Some([x, y]) = self.context.world.position_at(slot) else {
            return true;
        };
        let distance_squared = aether_space::distance_squared(self.center, x, y);
        let rings = &self.settings.rings;
        let within = rings.iter().position(|ring| distance_squared <= ring.distance * ring.distance);
        let number = within.unwrap_or(rings.len() - 1);
        // The nearest ring is not stretched under overload: the player looks there.
        let stretch = if number == 0 { 1 } else { self.context.ring_stretch };
        let interval = (rings[number].interval * stretch).max(1);
        interval == 1 || turn.is_multiple_of(interval)
    }
}
