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
    /// Squared distance within which everything is due in every snapshot.
    always_squared: f32,
    /// A turn without any of these bits is a multiple of all intervals: such slots are due at any distance.
    turn_mask: u32,
}

impl<'a> Rings<'a> {
    /// Returns the rings, unless everything is due in every snapshot.
    pub fn new(context: &'a SnapshotContext<'a>, center: Option<[f32; 2]>, snapshot: u32) -> Option<Self> {
        let settings = context.settings;
        let mut turn_mask = 0;
        for ring in &settings.rings {
            let interval = ring.interval.max(1).saturating_mul(context.ring_stretch.max(1));
            // The largest power of two is a multiple of the others. Other intervals have no such mask.
            turn_mask |= if interval.is_power_of_two() { interval - 1 } else { u32::MAX };
        }
        if turn_mask == 0 {
            return None;
        }
        // The nearest ring is not stretched under overload: the player looks there.
        let nearest = settings.rings.first().filter(|nearest| nearest.interval <= 1);
        let always_squared = nearest.map_or(-1.0, |nearest| nearest.distance * nearest.distance);
        Some(Rings { context, settings, center: center?, snapshot, always_squared, turn_mask })
    }

    /// Returns true if a slot is due. Slots take turns, so that the updates of a ring spread evenly over the snapshots.
    #[inline(always)]
    pub fn is_due(&self, slot: u32) -> bool {
        let turn = self.snapshot.wrapping_add(slot);
        if turn & self.turn_mask == 0 {
            return true;
        }
        let Some([x, y]) = self.context.world.position_at(slot) else {
            return true;
        };
        let distance_squared = aether_space::distance_squared(self.center, x, y);
        distance_squared <= self.always_squared || self.is_turn(turn, distance_squared)
    }

    /// Returns true if it is the turn of a slot at a distance.
    #[inline(never)]
    fn is_turn(&self, turn: u32, distance_squared: f32) -> bool {
        let rings = &self.settings.rings;
        let within = rings.iter().position(|ring| distance_squared <= ring.distance * ring.distance);
        let number = within.unwrap_or(rings.len() - 1);
        let stretch = if number == 0 { 1 } else { self.context.ring_stretch };
        let interval = (rings[number].interval * stretch).max(1);
        interval == 1 || turn.is_multiple_of(interval)
    }
}
