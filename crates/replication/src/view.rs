//! [`ClientView`]: the entities that a client sees, and the versions it has.

use crate::in_flight::{PacketContents, PacketFate, PacketsInFlight};
use crate::view_entities::ViewEntities;
use crate::{BASELINE_AGE_MAX, DeliveryOrder, SendSettings};
use aether_space::{InterestChanges, SlotSet};
use aether_wire::{EntityId, InputSeq, PacketSeq, StateAck, Tick};
use aether_world::World;

/// Inputs of a snapshot that all views of a room share.
#[derive(Clone, Copy)]
pub struct SnapshotContext<'a> {
    /// World, settled after the tick.
    pub world: &'a World,
    /// Slots that changed since the last snapshot.
    pub changed: &'a SlotSet,
    /// Settings of sending.
    pub settings: &'a SendSettings,
    /// Factor by which the intervals of the rings are stretched under overload; normally 1.
    pub ring_stretch: u32,
}

/// Entities that one client sees, the version of each that the client has, and the packets in flight.
#[derive(Debug)]
pub struct ClientView {
    /// Entity of the player, which is always sent first.
    pub focus: Option<EntityId>,
    /// Viewpoint of the player, for rings and urgency.
    pub center: Option<[f32; 2]>,
    pub(crate) order: DeliveryOrder,
    pub(crate) entities: ViewEntities,
    /// Slots with changes from earlier snapshots that were not sent or were lost.
    pub(crate) waiting: SlotSet,
    /// Slots whose removal the client must receive, each with the tick at which it was sent; zero if not sent.
    pub(crate) departed: Vec<(u32, Tick)>,
    pub(crate) in_flight: PacketsInFlight,
    pub(crate) next_sequence: PacketSeq,
    /// Newest tick of which the client is known to have received anything.
    pub(crate) received: Tick,
    pub(crate) input_ack_sent: InputSeq,
    pub(crate) silent_snapshots: u32,
    /// Number of snapshots built for this client, for the turns of the rings.
    pub(crate) snapshots: u32,
    /// True if anything ever exceeded the budget, so that urgencies must be maintained.
    pub(crate) was_over_budget: bool,
    changes: InterestChanges,
}

impl ClientView {
    /// Returns a view that sees nothing yet.
    #[must_use]
    pub fn new(order: DeliveryOrder) -> Self {
        ClientView {
            focus: None,
            center: None,
            order,
            entities: ViewEntities::default(),
            waiting: SlotSet::new(),
            departed: Vec::new(),
            in_flight: PacketsInFlight::default(),
            next_sequence: PacketSeq(1),
            received: Tick::ZERO,
            input_ack_sent: InputSeq(0),
            silent_snapshots: u32::MAX,
            snapshots: 0,
            was_over_budget: false,
            changes: InterestChanges::new(),
        }
    }

    /// Returns the slots that the client sees.
    #[must_use]
    pub fn visible(&self) -> &SlotSet {
        &self.entities.visible
    }

    /// Updates the visible slots. `ended` lists the slots whose entity was despawned since the last snapshot,
    /// ascending. `update` changes the set and reports the difference.
    pub fn update_visible(
        &mut self,
        tick: Tick,
        ended: &[u32],
        update: impl FnOnce(&mut SlotSet, &mut InterestChanges),
    ) {
        if !ended.is_empty() {
            // A slot may have been reused: the client must receive the new entity as one that entered.
            self.changes.clear();
            self.changes.left.extend(ended.iter().filter(|&&slot| self.entities.visible.remove(slot)));
            self.apply_changes(tick);
        }
        update(&mut self.entities.visible, &mut self.changes);
        self.apply_changes(tick);
    }

    /// Defers the changes of a snapshot that is not built for this client.
    pub fn defer(&mut self, changed: &SlotSet) {
        for slot in self.entities.visible.intersection(changed) {
            self.waiting.insert(slot);
        }
    }

    /// Handles an acknowledgement of state packets. Sequence numbers that were never sent are ignored.
    pub fn acknowledge(&mut self, ack: StateAck) {
        if self.order == DeliveryOrder::Ordered {
            // A packet counts as received when it is sent.
            return;
        }
        let ClientView { in_flight, entities, waiting, departed, received, .. } = self;
        in_flight.acknowledge(ack, |contents, fate| {
            if fate == PacketFate::Received {
                *received = (*received).max(contents.tick);
            }
            apply_fate(entities, waiting, departed, (contents, fate));
        });
    }

    /// Marks unacknowledged packets as lost after their time, so that their contents are sent again.
    pub(crate) fn expire(&mut self, now: Tick, resend_ticks: u32) {
        let ClientView { in_flight, entities, waiting, departed, .. } = self;
        let [late, oldest] = [resend_ticks, BASELINE_AGE_MAX].map(|age| Tick(now.0.saturating_sub(age)));
        in_flight.expire(late, oldest, |contents, fate| apply_fate(entities, waiting, departed, (contents, fate)));
    }

    #[inline]
    fn apply_changes(&mut self, tick: Tick) {
        if !self.changes.is_empty() {
            self.apply_some_changes(tick);
        }
    }

    fn apply_some_changes(&mut self, tick: Tick) {
        let ClientView { entities, waiting, departed, changes, .. } = self;
        for &slot in &changes.left {
            waiting.remove(slot);
        }
        entities.apply_changes(changes, tick, |slot| departed.push((slot, Tick::ZERO)));
        for &slot in &changes.entered {
            waiting.insert(slot);
        }
        if !departed.is_empty() {
            // An entity that is visible again is sent in full, which replaces the removal.
            departed.retain(|&(slot, _)| {
                let back = entities.visible.contains(slot);
                if back {
                    // If it leaves again before it is sent, the client still has the old one.
                    entities.announced.insert(slot);
                }
                !back
            });
        }
    }
}

/// Applies the fate of a packet to its contents.
fn apply_fate(
    entities: &mut ViewEntities,
    waiting: &mut SlotSet,
    departed: &mut Vec<(u32, Tick)>,
    (contents, fate): (&PacketContents, PacketFate),
) {
    let tick = contents.tick;
    match fate {
        PacketFate::Received => {
            for &(word, slots) in &contents.states {
                entities.acknowledge(word as usize, slots, tick);
            }
            // The slot may have been removed again since: clear only the removal that this packet carried.
            departed.retain(|(slot, sent)| *sent != tick || contents.removals.binary_search(slot).is_err());
        }
        PacketFate::Lost => {
            // Slots that were sent again meanwhile are cleared when that packet is acknowledged. Slots without a
            // difference are found empty when gathered.
            for &(word, slots) in &contents.states {
                let seen = entities.visible.words().get(word as usize).copied().unwrap_or(0);
                waiting.insert_word(word as usize, slots & seen);
            }
            for (slot, sent) in departed {
                if *sent == tick && contents.removals.binary_search(slot).is_ok() {
                    *sent = Tick::ZERO;
                }
            }
        }
    }
}
