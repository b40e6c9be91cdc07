//! One client behind a link that delays its acknowledgements and may lose packets.

use crate::support::Random;
use aether_replication::{
    ClientView, ComponentBits, DeliveryOrder, DeltaCache, GatherBuffer, Mirror, PacketSink, SendSettings,
    SnapshotContext,
};
use aether_space::{InterestChanges, SlotSet};
use aether_wire::{InputSeq, PacketSeq, StateAck};
use aether_world::World;
use std::collections::VecDeque;

/// How a link behaves.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    pub link: DeliveryOrder,
    /// How old the state is that the server knows to have arrived; of no matter on an ordered link.
    pub lag_ticks: usize,
    /// How much is lost, each way.
    pub loss_percent: u64,
}

/// The server's view of a client, the link, and the client's mirror.
///
/// Packets reach the mirror in the tick that sent them, and only the acknowledgements take their time: what the server
/// knows, and so what it sends, is the same as if both ways took half of it.
pub struct Line {
    view: ClientView,
    pub mirror: Mirror,
    conditions: Conditions,
    random: Random,
    /// Under way, the oldest first; `None` where one was lost.
    acknowledgements: VecDeque<Option<StateAck>>,
    deltas: DeltaCache,
    gathered: GatherBuffer,
    settings: SendSettings,
}

/// What was sent in one snapshot.
#[derive(Default)]
pub struct Sent {
    pub packets: Vec<Packet>,
    /// How many entities' states.
    pub updates: usize,
}

pub struct Packet {
    pub bytes: Vec<u8>,
    pub arrived: bool,
}

impl Line {
    /// A line to a client that sees the whole world.
    pub fn new(world: &World, mirror: Mirror, conditions: Conditions, settings: SendSettings, seed: u64) -> Line {
        let mut view = ClientView::new(conditions.link);
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

    /// Takes in the acknowledgement that is due, sends a snapshot, and lets the mirror apply what arrives of it.
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
        let frame = SnapshotContext { world, changed: world.changed(), settings: &self.settings, ring_stretch: 1 };
        let mut sent = Sent::default();
        self.deltas.begin(world, self.settings.seconds_per_tick);
        self.gathered.begin();
        self.view.gather(&frame, &mut self.deltas, &mut self.gathered);
        self.view.assemble(&frame, &self.deltas, &mut self.gathered, InputSeq(0), &mut sent);
        sent.updates = self.deltas.count_bits(&mut self.gathered, &mut ComponentBits::default()) as usize;
        sent
    }

    fn is_lost(&mut self) -> bool {
        self.conditions.link == DeliveryOrder::Unordered && self.random.next() % 100 < self.conditions.loss_percent
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
