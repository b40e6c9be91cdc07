//! One client behind a network that delays its acknowledgements and may lose packets.

use crate::support::Random;
use aether_replication::{
    ClientView, ComponentBits, DeliveryOrder, DeltaCache, GatherBuffer, Mirror, PacketSink, SendSettings,
    SnapshotContext,
};
use aether_space::{InterestChanges, SlotSet};
use aether_wire::{InputSeq, PacketSeq, StateAck};
use aether_world::World;
use std::collections::VecDeque;

/// Properties of the network.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    pub order: DeliveryOrder,
    /// Age of the newest acknowledged state, in ticks. Not used with ordered delivery.
    pub lag_ticks: usize,
    /// Loss in each direction, in percent.
    pub loss_percent: u64,
}

/// The server's view of a client, the network, and the client's mirror.
///
/// Packets reach the mirror in the tick that sent them, and only acknowledgements are delayed. What the server knows,
/// and so what it sends, is the same as with half the delay in each direction.
pub struct Line {
    view: ClientView,
    pub mirror: Mirror,
    conditions: Conditions,
    random: Random,
    /// Acknowledgements in flight, oldest first; `None` for a lost one.
    acknowledgements: VecDeque<Option<StateAck>>,
    deltas: DeltaCache,
    gathered: GatherBuffer,
    settings: SendSettings,
}

/// Totals of one snapshot.
#[derive(Default)]
pub struct Sent {
    pub packets: Vec<Packet>,
    /// Number of entity states.
    pub updates: usize,
}

pub struct Packet {
    pub bytes: Vec<u8>,
    pub arrived: bool,
}

impl Line {
    /// Returns a connection to a client that sees the whole world.
    pub fn new(world: &World, mirror: Mirror, conditions: Conditions, settings: SendSettings, seed: u64) -> Line {
        let mut view = ClientView::new(conditions.order);
        view.update_visible(world.tick(), &[], |visible: &mut SlotSet, changes: &mut InterestChanges| {
            changes.clear();
            changes.entered.extend(world.alive().iter().filter(|&slot| visible.insert(slot)));
        });
        Line {
            view,
            mirror,
            conditions,
            random: Random(seed),
            acknowledgements: VecDeque::new(),
            deltas: DeltaCache::default(),
            gathered: GatherBuffer::default(),
            settings,
        }
    }

    /// Handles the acknowledgement that is due, sends a snapshot, and applies what arrives of it.
    pub fn exchange(&mut self, world: &World) -> Sent {
        if self.acknowledgements.len() >= self.conditions.lag_ticks
            && let Some(Some(acknowledgement)) = self.acknowledgements.pop_front()
        {
            self.view.acknowledge(acknowledgement);
        }
        let mut sent = self.send(world);
        for packet in &mut sent.packets {
            packet.arrived = !self.is_lost();
            if packet.arrived {
                let applied = self.mirror.apply(&packet.bytes).expect("the mirror can read what was sent");
                assert!(!applied.stale, "nothing comes late");
            }
        }
        let acknowledgement = (!self.is_lost()).then(|| self.mirror.acknowledgement());
        self.acknowledgements.push_back(acknowledgement);
        sent
    }

    fn send(&mut self, world: &World) -> Sent {
        let context = SnapshotContext { world, changed: world.changed(), settings: &self.settings, ring_stretch: 1 };
        let mut sent = Sent::default();
        self.deltas.begin(world, self.settings.seconds_per_tick);
        self.gathered.begin();
        self.view.gather(&context, &mut self.deltas, &mut self.gathered);
        self.view.assemble(&context, &self.deltas, &mut self.gathered, InputSeq(0), &mut sent);
        sent.updates = self.deltas.count_bits(&mut self.gathered, &mut ComponentBits::default()) as usize;
        sent
    }

    fn is_lost(&mut self) -> bool {
        self.conditions.order == DeliveryOrder::Unordered && self.random.next() % 100 < self.conditions.loss_percent
    }
}

impl PacketSink for Sent {
    fn buffer(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn packet(&mut self, _sequence: PacketSeq, bytes: Vec<u8>) {
        self.packets.push(Packet { bytes, arrived: false });
    }
}
