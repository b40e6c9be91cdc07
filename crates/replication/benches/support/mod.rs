//! Parts that the replication benches share: a moving world, clients with and without delay, and the report.

use aether_replication::{
    ClientView, DeliveryOrder, DeltaCache, GatherBuffer, PacketSink, SendSettings, SnapshotContext,
};
use aether_space::{InterestChanges, SlotSet};
pub use aether_testkit::moving::{Body, Random, SECONDS_PER_TICK};
use aether_wire::{EntityId, InputSeq, PacketSeq, StateAck};
use aether_world::World;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

pub fn spawn(world: &mut World, count: usize, random: &mut Random) -> Vec<EntityId> {
    (0..count)
        .map(|_| {
            let speed = random.within(2.0, 15.0);
            let heading = random.within(0.0, std::f32::consts::TAU);
            let body = Body {
                position: [random.within(-900.0, 900.0), random.within(-900.0, 900.0)],
                velocity: [speed * heading.cos(), speed * heading.sin()],
                heading,
            };
            world.spawn(body).expect("the world is not full")
        })
        .collect()
}

/// Steers a body a little and moves it on.
pub fn drive(body: &mut Body, random: &mut Random) {
    body.heading += random.within(-0.15, 0.15);
    let speed = (body.velocity[0].powi(2) + body.velocity[1].powi(2)).sqrt() + random.within(-0.3, 0.3);
    body.velocity = [speed * body.heading.cos(), speed * body.heading.sin()];
    for axis in 0..2 {
        body.position[axis] += body.velocity[axis] * SECONDS_PER_TICK;
        if body.position[axis].abs() > 990.0 {
            body.position[axis] = -body.position[axis].signum() * 980.0;
        }
    }
}

/// A client whose acknowledgements are delayed by some ticks, or with ordered delivery.
pub struct Client {
    pub view: ClientView,
    lag: Option<usize>,
    acks: VecDeque<PacketSeq>,
    pub outbox: Outbox,
}

/// Stores the buffers of the last snapshot for reuse.
#[derive(Default)]
pub struct Outbox {
    spare: Vec<Vec<u8>>,
    sent: Vec<Vec<u8>>,
    latest: PacketSeq,
    pub bytes: usize,
    pub packets: usize,
    checksum: u64,
}

/// Prime of the checksum, FNV-1a.
const CHECKSUM_PRIME: u64 = 0x100_0000_01b3;

impl PacketSink for Outbox {
    fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    fn packet(&mut self, sequence: PacketSeq, bytes: Vec<u8>) {
        self.bytes += bytes.len();
        self.packets += 1;
        self.latest = sequence;
        self.sent.push(bytes);
    }
}

impl Client {
    pub fn new(lag: Option<usize>) -> Client {
        let order = if lag.is_some() { DeliveryOrder::Unordered } else { DeliveryOrder::Ordered };
        Client { view: ClientView::new(order), lag, acks: VecDeque::new(), outbox: Outbox::default() }
    }

    /// Measured: handles the acknowledgement that is due.
    fn receive(&mut self) {
        let Some(lag) = self.lag else { return };
        if self.acks.len() >= lag
            && let Some(latest) = self.acks.pop_front()
        {
            self.view.acknowledge(StateAck::new(latest, u64::MAX));
        }
    }

    /// Not measured: the client takes the packets and returns the buffers.
    fn take(&mut self) {
        self.acks.push_back(self.outbox.latest);
        self.outbox.checksum = self
            .outbox
            .sent
            .iter()
            .flatten()
            .fold(self.outbox.checksum, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(CHECKSUM_PRIME));
        self.outbox.spare.append(&mut self.outbox.sent);
    }
}

pub struct Sender {
    deltas: DeltaCache,
    gathered: GatherBuffer,
    settings: SendSettings,
}

impl Sender {
    pub fn new() -> Sender {
        let settings =
            SendSettings { bytes_max: usize::MAX / 16, seconds_per_tick: SECONDS_PER_TICK, ..SendSettings::default() };
        Sender { deltas: DeltaCache::default(), gathered: GatherBuffer::default(), settings }
    }

    /// Sends one snapshot to all clients. Returns its duration: acknowledgements, encoding and packets.
    pub fn send(&mut self, world: &World, clients: &mut [Client]) -> Duration {
        let start = Instant::now();
        self.deltas.begin(world, SECONDS_PER_TICK);
        let context = SnapshotContext { world, changed: world.changed(), settings: &self.settings, ring_stretch: 1 };
        self.gathered.begin();
        for client in clients.iter_mut() {
            client.receive();
            client.view.gather(&context, &mut self.deltas, &mut self.gathered);
            client.view.assemble(&context, &self.deltas, &mut self.gathered, InputSeq(0), &mut client.outbox);
        }
        start.elapsed()
    }
}

/// One snapshot. `cargo xtask bench --instructions` counts the instructions of this function.
#[inline(never)]
fn measured_tick(sender: &mut Sender, world: &World, clients: &mut [Client]) -> Duration {
    sender.send(world, clients)
}

/// Rounds before the measured ones: all clients have everything, and the many packets of the first state, which are more
/// than an acknowledgement covers, are forgotten.
const WARM_UP_ROUNDS: usize = 80;

/// Makes everything visible to every client.
pub fn show_all(world: &World, clients: &mut [Client]) {
    for client in clients {
        client.view.update_visible(world.tick(), &[], |visible: &mut SlotSet, changes: &mut InterestChanges| {
            changes.clear();
            changes.entered.extend(world.alive().iter().filter(|&slot| visible.insert(slot)));
        });
    }
}

/// Choice of the entities that change in each tick.
#[derive(Clone, Copy, PartialEq)]
pub enum Change {
    /// Other entities every tick.
    Spread,
    /// Always the same entities, so that late clients have other baselines than prompt ones.
    Same,
}

/// Sends `rounds` snapshots of `entities` to `clients` that see everything, half of which acknowledge late. `change`
/// changes the world before each. Returns the median duration in milliseconds.
pub fn send_all(
    rounds: usize,
    (entities, clients): (usize, usize),
    mut change: impl FnMut(usize, &[EntityId], &mut World, &mut Random),
) -> f64 {
    let mut random = Random(1);
    let mut world = World::builder().component::<Body>().build();
    let lag = |client: usize| if client.is_multiple_of(2) { 1 } else { 2 + client / 2 % 3 };
    let mut clients: Vec<Client> = (0..clients).map(|client| Client::new(Some(lag(client)))).collect();
    let mut sender = Sender::new();
    world.advance();
    let ids = spawn(&mut world, entities, &mut random);
    world.settle();
    show_all(&world, &mut clients);
    let mut times = Vec::new();
    for round in 0..rounds + WARM_UP_ROUNDS {
        if round < WARM_UP_ROUNDS {
            sender.send(&world, &mut clients);
        } else {
            times.push(measured_tick(&mut sender, &world, &mut clients));
        }
        clients.iter_mut().for_each(Client::take);
        world.advance();
        change(round, &ids, &mut world, &mut random);
        world.settle();
    }
    let (bytes, packets) = clients.iter().fold((0, 0), |(b, p), c| (b + c.outbox.bytes, p + c.outbox.packets));
    let checksum = clients.iter().fold(0, |sum: u64, client| sum.wrapping_add(client.outbox.checksum));
    println!(
        "  {packets} packets of {} bytes on average, those of the first state included; checksum {checksum:016x}",
        bytes / packets
    );
    median(&mut times)
}

pub fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// Prints the last line of a bench. Without an aim, the figure is for orientation.
pub fn report(name: &str, figure: f64, unit: &str, aim: Option<(&str, bool)>) {
    match aim {
        Some((aim, met)) => println!("{name}: {figure:.3} {unit}, aim {aim}: {}", if met { "met" } else { "missed" }),
        None => println!("{name}: {figure:.3} {unit} (for orientation; the aim is a number of instructions)"),
    }
}
