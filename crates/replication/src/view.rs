//! One client's view of a room: what it sees, and what of that it has.

use crate::flight::{PacketContents, PacketFate, PacketsInFlight};
use crate::roster::ViewEntities;
use crate::{BASELINE_AGE_MAX, DeliveryOrder, SendSettings};
use aether_space::{InterestChanges, SlotSet};
use aether_wire::{EntityId, InputSeq, PacketSeq, StateAck, Tick};
use aether_world::World;

/// What all views of a room share in one snapshot.
#[derive(Clone, Copy)]
pub struct SnapshotContext<'a> {
    /// The world, settled.
    pub world: &'a World,
    /// The slots that changed since the last snapshot.
    pub changed: &'a SlotSet,
    /// How state is sent.
    pub settings: &'a SendSettings,
    /// By how much the rings' intervals are stretched under overload; 1 normally.
    pub ring_stretch: u32,
}

/// What one client sees, which version of it the client has, and what is under way.
#[derive(Debug)]
pub struct ClientView {
    /// The entity that is never left waiting: the player's own.
    pub focus: Option<EntityId>,
    /// Where the player looks from, for rings and priorities.
    pub center: Option<[f32; 2]>,
    pub(crate) link: DeliveryOrder,
    pub(crate) roster: ViewEntities,
    /// Slots with something from earlier snapshots that the client was not sent yet, or that was lost.
    pub(crate) waiting: SlotSet,
    /// Slots the client must be told are gone, each with the tick at which that was sent; zero if it was not.
    pub(crate) departed: Vec<(u32, Tick)>,
    pub(crate) flight: PacketsInFlight,
    pub(crate) next_sequence: PacketSeq,
    /// The newest tick of which the client is known to have received anything.
    pub(crate) received: Tick,
    pub(crate) input_ack_sent: InputSeq,
    pub(crate) silent_snapshots: u32,
    /// How many snapshots were built for this client, for the rings' turns.
    pub(crate) snapshots: u32,
    /// Whether anything was left waiting for lack of budget, so that urgencies are kept.
    pub(crate) pressed: bool,
    changes: InterestChanges,
}

impl ClientView {
    /// A view that sees nothing yet.
    #[must_use]
    pub fn new(link: DeliveryOrder) -> Self {
        ClientView {
            focus: None,
            center: None,
            link,
            roster: ViewEntities::default(),
            waiting: SlotSet::new(),
            departed: Vec::new(),
            flight: PacketsInFlight::default(),
            next_sequence: PacketSeq(1),
            received: Tick::ZERO,
            input_ack_sent: InputSeq(0),
            silent_snapshots: u32::MAX,
            snapshots: 0,
            pressed: false,
            changes: InterestChanges::new(),
        }
    }

    /// The slots this client sees.
    #[must_use]
    pub fn visible(&self) -> &SlotSet {
        &self.roster.visible
    }

    /// Updates what is seen: `ended` are the slots whose entity ended since the last snapshot, ascending; `update`
    /// changes the set and notes the difference.
    pub fn update_visible(&mut self, tick: Tick, ended: &[u32], update: impl FnOnce(&mut SlotSet, &mut InterestChanges)) {
        if !ended.is_empty() {
            // A slot may be in use again: the client has to learn of the new entity as one that came into view.
            self.changes.clear();
            self.changes.left.extend(ended.iter().filter(|&&slot| self.roster.visible.remove(slot)));
            self.adjust(tick);
        }
        update(&mut self.roster.visible, &mut self.changes);
        self.adjust(tick);
    }

    /// Notes what changed in a snapshot that this client is not sent, because its link is still busy with the last.
    pub fn defer(&mut self, changed: &SlotSet) {
        for slot in self.roster.visible.intersection(changed) {
            self.waiting.insert(slot);
        }
    }

    /// Takes in an acknowledgement of state packets.
    /// What was never sent cannot be acknowledged.
    pub fn acknowledge(&mut self, ack: StateAck) {
        let ClientView { flight, roster, waiting, departed, received, .. } = self;
        flight.acknowledge(ack, |cargo, fate| {
            if fate == PacketFate::Received {
                *received = (*received).max(cargo.tick);
            }
            settle(roster, waiting, departed, (cargo, fate));
        });
    }

    /// Gives up packets that were not acknowledged in time, so that what they carried is sent again.
    pub(crate) fn expire(&mut self, now: Tick, resend_ticks: u32) {
        let ClientView { flight, roster, waiting, departed, .. } = self;
        let [late, oldest] = [resend_ticks, BASELINE_AGE_MAX].map(|age| Tick(now.0.saturating_sub(age)));
        flight.expire(late, oldest, |cargo, fate| settle(roster, waiting, departed, (cargo, fate)));
    }

    fn adjust(&mut self, tick: Tick) {
        let ClientView { roster, waiting, departed, changes, .. } = self;
        if changes.is_empty() {
            return;
        }
        for &slot in &changes.left {
            waiting.remove(slot);
        }
        roster.adjust(changes, tick, |slot| departed.push((slot, Tick::ZERO)));
        for &slot in &changes.entered {
            waiting.insert(slot);
        }
        if !departed.is_empty() {
            // Whoever comes back is sent as a whole, which says more than that its slot was empty for a while.
            departed.retain(|&(slot, _)| {
                let back = roster.visible.contains(slot);
                if back {
                    // Should it leave again before it is sent, the client still has the one from before.
                    roster.told.insert(slot);
                }
                !back
            });
        }
    }
}

/// Books what became of a packet's cargo.
fn settle(
    roster: &mut ViewEntities,
    waiting: &mut SlotSet,
    departed: &mut Vec<(u32, Tick)>,
    (cargo, fate): (&PacketContents, PacketFate),
) {
    let tick = cargo.tick;
    match fate {
        PacketFate::Received => {
            for &(word, slots) in &cargo.states {
                roster.acknowledge(word as usize, slots, tick);
            }
            // The same slot may have come and gone again since: only the removal that this packet carried is meant.
            departed.retain(|(slot, sent)| *sent != tick || cargo.removals.binary_search(slot).is_err());
        }
        PacketFate::Lost => {
            // What was sent again since is cleared by that; what nobody asks for any more is found to be empty.
            for &(word, slots) in &cargo.states {
                let seen = roster.visible.words().get(word as usize).copied().unwrap_or(0);
                waiting.insert_word(word as usize, slots & seen);
            }
            for (slot, sent) in departed {
                if *sent == tick && cargo.removals.binary_search(slot).is_ok() {
                    *sent = Tick::ZERO;
                }
            }
        }
    }
}
