//! Whatever happens in a room and to its clients, every packet can be read and has the state of its tick.

use crate::common::{Body, Random, SECONDS_PER_TICK, Tag, body, choose, settings};
use crate::support::{mirror, typeless_mirror};
use aether_replication::{
    ClientView, DeliveryOrder, DeltaCache, GatherBuffer, Mirror, PacketSink, SendSettings, SnapshotContext, UpdateRing,
};
use aether_space::SlotSet;
use aether_wire::limits::STATE_PACKET_BYTES_MAX;
use aether_wire::{EntityId, InputSeq, PacketSeq, StateAck};
use aether_world::World;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Snapshots with changes, and the most without until all clients agree.
const STEPS: u32 = 40;
const CALM_STEPS_MAX: u32 = 1_500;
/// A budget that is never exceeded.
const BYTES_ENOUGH: usize = 100_000;

/// Order of the work of a snapshot. The packets are the same.
#[derive(Clone, Copy, Debug)]
enum Encoding {
    /// Each client gathers and assembles.
    Serial,
    /// The same, after common deltas were encoded ahead.
    Ahead,
    /// Each part of the clients is served with a copy of the deltas, as by the threads of a room.
    Parallel,
}

#[derive(Clone, Debug)]
struct Conditions {
    seed: u64,
    entities: usize,
    /// Entities at the start, so that the slots of those that stay are far apart.
    entities_first: usize,
    /// Percentages of entities that move per tick, and that are spawned, despawned or get other components.
    moving: u64,
    turnover: u64,
    ticks_per_snapshot: u32,
    bytes_max: usize,
    rings: Vec<UpdateRing>,
    ring_stretch: u32,
    encoding: Encoding,
    /// True for clients with ordered delivery.
    clients: Vec<bool>,
    /// Percentages of lost packets of unordered clients, and of snapshots that are not built for a client.
    loss: u64,
    slow: u64,
    /// Delay of a packet of an unordered client, in snapshots.
    delay_max: u64,
}

fn conditions() -> impl Strategy<Value = Conditions> {
    let rings = prop_oneof![
        3 => Just(Vec::new()),
        1 => (1u32..3, 2u32..6).prop_map(|(near, far)| {
            vec![UpdateRing { distance: 300.0, interval: near }, UpdateRing { distance: 700.0, interval: far }]
        }),
    ];
    let population =
        (prop_oneof![3 => 1usize..80, 1 => 80usize..500], prop_oneof![2 => Just(0usize), 1 => 500usize..3_000]);
    let changes = (prop_oneof![0u64..5, 20u64..101], prop_oneof![Just(0u64), 1u64..12], 1u32..4);
    let budget = prop_oneof![2 => Just(BYTES_ENOUGH), 1 => Just(4_000usize), 2 => 120usize..1_200];
    let encoding = prop_oneof![Just(Encoding::Serial), Just(Encoding::Ahead), Just(Encoding::Parallel)];
    let network = (prop_oneof![Just(0u64), 1u64..60], prop_oneof![Just(0u64), 1u64..50], 0u64..8);
    let clients = proptest::collection::vec(any::<bool>(), 1..7);
    (any::<u64>(), population, changes, (budget, rings, 1u32..4), encoding, (clients, network)).prop_map(
        |(seed, population, changes, sending, encoding, (clients, (loss, slow, delay_max)))| Conditions {
            seed,
            entities: population.0,
            entities_first: population.1,
            moving: changes.0,
            turnover: changes.1,
            ticks_per_snapshot: changes.2,
            bytes_max: sending.0,
            rings: sending.1,
            ring_stretch: sending.2,
            encoding,
            clients,
            loss,
            slow,
            delay_max,
        },
    )
}

/// The components of each entity, after each snapshot's tick.
type History = BTreeMap<u32, BTreeMap<EntityId, (Option<Body>, Option<Tag>)>>;

struct AnyClient {
    order: DeliveryOrder,
    view: ClientView,
    typed: Mirror,
    described: Mirror,
    gathered: GatherBuffer,
    /// Percentage of the slots that it sees, chosen by a key.
    sight: (u64, u64),
    is_served: bool,
    packets: Vec<(u32, Vec<u8>)>,
    acknowledgements: Vec<(u32, StateAck)>,
}

impl AnyClient {
    fn new(world: &World, is_ordered: bool, random: &mut Random) -> AnyClient {
        let order = if is_ordered { DeliveryOrder::Ordered } else { DeliveryOrder::Unordered };
        AnyClient {
            order,
            view: ClientView::new(order),
            typed: mirror(order),
            described: typeless_mirror(order, world),
            gathered: GatherBuffer::default(),
            sight: sight(random),
            is_served: true,
            packets: Vec::new(),
            acknowledgements: Vec::new(),
        }
    }

    fn look(&mut self, world: &World, ended: &[u32]) {
        let (percent, key) = self.sight;
        let sees = |slot: u32| Random(key ^ u64::from(slot)).chance(percent);
        self.view.update_visible(world.tick(), ended, |visible, changes| choose(world, visible, changes, sees));
    }

    /// Delivers the packets and acknowledgements that are due at a step, and checks what the packets say.
    fn receive(&mut self, step: u32, history: &History) {
        for (_, packet) in due(&mut self.packets, step) {
            let applied = self.typed.apply(&packet).expect("a packet of the server can be read");
            assert_eq!(self.described.apply(&packet), Ok(applied));
            let then = &history[&applied.tick.0];
            for &id in self.typed.entered().iter().chain(self.typed.updated()) {
                let seen = (self.typed.get::<Body>(id).cloned(), self.typed.get::<Tag>(id).cloned());
                assert_eq!(Some(&seen), then.get(&id), "{id:?} at {:?}", applied.tick);
            }
        }
        assert_eq!(self.typed.hash(), self.described.hash(), "typed and described mirrors have the same state");
        for (_, acknowledgement) in due(&mut self.acknowledgements, step) {
            self.view.acknowledge(acknowledgement);
        }
    }

    fn agrees(&self, world: &World) -> bool {
        self.typed.hash() == world.hash_of(self.view.visible().iter())
    }
}

/// Returns a share of the slots, often all.
fn sight(random: &mut Random) -> (u64, u64) {
    ([100, 100, 90, 40, 5, 0][random.below(6) as usize], random.next())
}

/// Takes what is due at a step, in the order of sending.
fn due<T>(queue: &mut Vec<(u32, T)>, step: u32) -> Vec<(u32, T)> {
    let (due, later) = std::mem::take(queue).into_iter().partition(|(at, _)| *at <= step);
    *queue = later;
    due
}

/// A sink whose buffers still have the bytes of former packets.
#[derive(Default)]
struct UsedBuffers(Vec<Vec<u8>>);

impl PacketSink for UsedBuffers {
    fn buffer(&mut self) -> Vec<u8> {
        vec![0xff; (self.0.len() * 357) % STATE_PACKET_BYTES_MAX]
    }

    fn packet(&mut self, _sequence: PacketSeq, bytes: Vec<u8>) {
        assert!(bytes.len() <= STATE_PACKET_BYTES_MAX, "a packet of {} bytes", bytes.len());
        self.0.push(bytes);
    }
}

struct AnyRoom {
    conditions: Conditions,
    settings: SendSettings,
    world: World,
    random: Random,
    clients: Vec<AnyClient>,
    changed: SlotSet,
    ended: Vec<u32>,
    history: History,
    deltas: DeltaCache,
    /// Copies of the deltas, one for each part of the clients.
    copies: [DeltaCache; 2],
    step: u32,
}

impl AnyRoom {
    fn new(conditions: Conditions) -> AnyRoom {
        let (world, mut random) = (crate::common::world(), Random(conditions.seed));
        let clients = conditions.clients.iter().map(|&is_ordered| AnyClient::new(&world, is_ordered, &mut random));
        AnyRoom {
            settings: SendSettings { bytes_max: conditions.bytes_max, rings: conditions.rings.clone(), ..settings() },
            clients: clients.collect(),
            conditions,
            world,
            random,
            changed: SlotSet::new(),
            ended: Vec::new(),
            history: History::new(),
            deltas: DeltaCache::default(),
            copies: Default::default(),
            step: 0,
        }
    }

    fn tick(&mut self, is_calm: bool) {
        self.world.advance();
        if !is_calm {
            self.change_world();
        }
        self.world.settle();
        self.changed.union_with(self.world.changed());
        self.ended.extend(self.world.despawned().iter().map(|id| id.slot));
    }

    fn change_world(&mut self) {
        let AnyRoom { conditions, world, random, .. } = self;
        let ids: Vec<EntityId> = world.entities().collect();
        for id in ids {
            let is_surplus = world.len() > conditions.entities;
            if random.chance(if is_surplus { 60 } else { conditions.turnover / 3 }) {
                assert!(world.despawn(id));
                continue;
            }
            if random.chance(conditions.moving)
                && let Some(body) = world.get_mut::<Body>(id)
            {
                move_body(body, random);
            }
            if random.chance(conditions.turnover) {
                reshape(world, id, random);
            }
        }
        let count = if world.tick().0 == 1 { conditions.entities_first } else { 0 }.max(conditions.entities);
        while world.len() < count {
            let body = body(random);
            world.spawn(body).expect("the world is not full");
        }
    }

    /// Lets clients join again, see other entities, possess others and read slowly.
    fn change_clients(&mut self, is_calm: bool) {
        let AnyRoom { conditions, world, random, clients, .. } = self;
        let entities: Vec<EntityId> = world.entities().collect();
        for client in clients {
            if !is_calm && random.chance(2) {
                *client = AnyClient::new(world, client.order == DeliveryOrder::Ordered, random);
            }
            if !is_calm && random.chance(10) {
                client.sight = sight(random);
            }
            if random.chance(10) && !entities.is_empty() {
                client.view.focus = Some(entities[random.below(entities.len() as u64) as usize]);
                client.view.center = client.view.focus.and_then(|id| world.position(id));
            }
            client.is_served = is_calm || !random.chance(conditions.slow);
        }
    }

    fn send(&mut self) -> Vec<Vec<Vec<u8>>> {
        let AnyRoom { settings, world, clients, changed, deltas, copies, .. } = self;
        let context = SnapshotContext { world, changed, settings, ring_stretch: self.conditions.ring_stretch };
        deltas.begin(world, SECONDS_PER_TICK);
        for client in clients.iter_mut().filter(|client| !client.is_served) {
            client.view.defer(changed);
        }
        let input_ack = InputSeq(self.step / 3);
        let assemble = |client: &mut AnyClient, deltas: &DeltaCache| {
            let mut sink = UsedBuffers::default();
            client.view.assemble(&context, deltas, &mut client.gathered, input_ack, &mut sink);
            sink.0
        };
        if matches!(self.conditions.encoding, Encoding::Ahead) {
            deltas.encode_ahead(&context, clients.iter().filter(|client| client.is_served).map(|client| &client.view));
        }
        if matches!(self.conditions.encoding, Encoding::Parallel) {
            // As threads do: each serves a part of the clients with a copy of what was encoded ahead.
            deltas.encode_ahead(&context, clients.iter().filter(|client| client.is_served).map(|client| &client.view));
            copies.iter_mut().for_each(|copy| copy.copy_from(deltas));
            let part = clients.len().div_ceil(copies.len()).max(1);
            let one = |(at, client): (usize, &mut AnyClient)| {
                if !client.is_served {
                    return Vec::new();
                }
                let copy = &mut copies[at / part];
                client.gathered.begin();
                client.view.gather(&context, copy, &mut client.gathered);
                assemble(client, copy)
            };
            return clients.iter_mut().enumerate().map(one).collect();
        }
        let one = |client: &mut AnyClient| {
            if !client.is_served {
                return Vec::new();
            }
            client.gathered.begin();
            client.view.gather(&context, deltas, &mut client.gathered);
            assemble(client, deltas)
        };
        clients.iter_mut().map(one).collect()
    }

    /// Hands packets to the network, which loses, delays and doubles those of unordered clients.
    fn deliver(&mut self, sent: Vec<Vec<Vec<u8>>>, is_calm: bool) {
        let AnyRoom { conditions, random, step, .. } = self;
        for (client, packets) in self.clients.iter_mut().zip(sent) {
            let is_reliable = is_calm || client.order == DeliveryOrder::Ordered;
            let delay_max = if is_reliable { 0 } else { conditions.delay_max };
            for packet in packets {
                let copies = if is_reliable { 1 } else { 1 + random.below(10) / 9 };
                for _ in 0..copies {
                    if is_reliable || !random.chance(conditions.loss) {
                        client.packets.push((*step + random.below(delay_max + 1) as u32, packet.clone()));
                    }
                }
            }
            client.receive(*step, &self.history);
            let at = *step + random.below(delay_max + 1) as u32;
            client.acknowledgements.push((at, client.typed.acknowledgement()));
        }
    }

    /// Runs the ticks of a snapshot and the snapshot. Returns true if all clients have what they are shown.
    fn round(&mut self, is_calm: bool) -> bool {
        self.step += 1;
        for _ in 0..self.conditions.ticks_per_snapshot {
            self.tick(is_calm);
        }
        let world = &self.world;
        let state = |id| (id, (world.get::<Body>(id).cloned(), world.get::<Tag>(id).cloned()));
        self.history.insert(world.tick().0, world.entities().map(state).collect());
        self.ended.sort_unstable();
        self.ended.dedup();
        self.change_clients(is_calm);
        for client in &mut self.clients {
            client.look(&self.world, &self.ended);
        }
        let sent = self.send();
        self.changed.clear();
        self.ended.clear();
        self.deliver(sent, is_calm);
        let is_immediate = self.settings.bytes_max == BYTES_ENOUGH && self.settings.rings.is_empty();
        for client in self.clients.iter().filter(|client| client.order == DeliveryOrder::Ordered && client.is_served) {
            assert!(!is_immediate || client.agrees(&self.world), "an ordered client has everything");
        }
        self.clients.iter().all(|client| client.agrees(&self.world))
    }
}

fn move_body(body: &mut Body, random: &mut Random) {
    for axis in 0..2 {
        body.velocity[axis] = (body.velocity[axis] + random.within(-1.0, 1.0)).clamp(-50.0, 50.0);
        body.position[axis] += body.velocity[axis] * SECONDS_PER_TICK;
    }
    if random.chance(5) {
        *body = crate::common::body(random);
    }
}

fn reshape(world: &mut World, id: EntityId, random: &mut Random) {
    match random.below(3) {
        0 => {
            let tag = Tag { name: format!("n{}", random.below(9_999)), score: random.below(999) as u16 };
            world.insert(id, tag).expect("it fits");
        }
        1 => {
            world.remove::<Tag>(id);
        }
        _ => {
            if let Some(tag) = world.get_mut::<Tag>(id) {
                tag.score = tag.score.wrapping_add(1);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_packet_has_the_state_of_its_tick(conditions in conditions()) {
        let mut room = AnyRoom::new(conditions);
        for _ in 0..STEPS {
            room.round(false);
        }
        let calm = (0..CALM_STEPS_MAX).find(|_| room.round(true));
        prop_assert!(calm.is_some(), "no agreement after {CALM_STEPS_MAX} snapshots without changes");
    }
}
