//! 10,000 entities, 1,000 clients, about 50 visible each: the whole tick of a room, on one thread.

mod support;

use aether_engine::{
    ConnectionEndpoint, Context, Game, GameSchemaBuilder, JoinRequest, Observer, Random, Room, RoomCounts,
    RoomSettings, TickStage,
};
use aether_replication::DeliveryOrder;
use aether_space::{InterestSettings, WorldBounds};
use aether_wire::{PlayerId, Tick};
use std::time::{Duration, Instant};
use support::{Body, Turn, input};

const ENTITIES: usize = 10_000;
const CLIENTS: usize = 1_000;
/// Rounds before the measured ones: all clients have joined and have all that they see.
const WARM_UP_ROUNDS: usize = 40;

/// Everyone and everything moves all the time.
struct Crowd;

impl Game for Crowd {
    type Input = Turn;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Body>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        for _ in 0..ENTITIES - CLIENTS {
            let body = somewhere(room.random);
            room.world.spawn(body).expect("the queue is not full");
        }
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let body = somewhere(room.random);
        let entity = room.world.spawn(body).expect("the queue is not full");
        room.possess(player, entity);
    }

    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Turn) {
        let entity = room.possession(player).expect("every player has one");
        if let Some(body) = room.world.get_mut::<Body>(entity) {
            body.heading += input.turn as f32 * 0.1;
        }
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        let seconds = room.seconds_per_tick();
        let random = &mut *room.random;
        room.world.each_mut(|_, body: &mut Body| {
            for axis in 0..2 {
                body.velocity[axis] = (body.velocity[axis] + random.between(-0.5, 0.5)).clamp(-20.0, 20.0);
                body.position[axis] += body.velocity[axis] * seconds;
                if body.position[axis].abs() > EDGE {
                    body.velocity[axis] = -body.velocity[axis];
                }
            }
        });
    }
}

/// The area in which a radius of 100 holds about 50 entities.
const EDGE: f32 = 1_253.0;

fn somewhere(random: &mut Random) -> Body {
    Body {
        position: [random.between(-EDGE, EDGE), random.between(-EDGE, EDGE)],
        velocity: [random.between(-15.0, 15.0), random.between(-15.0, 15.0)],
        heading: 0.0,
    }
}

#[derive(Default)]
struct Watch {
    at: Option<(TickStage, Instant)>,
    stages: [Duration; 5],
    updates: u64,
}

impl Observer for Watch {
    fn stage(&mut self, _tick: Tick, stage: TickStage) {
        self.close();
        self.at = Some((stage, Instant::now()));
    }

    fn tick_finished(&mut self, _tick: Tick, counts: &RoomCounts) {
        self.close();
        self.updates = counts.updates;
    }
}

impl Watch {
    fn close(&mut self) {
        if let Some((stage, since)) = self.at.take() {
            self.stages[stage as usize] += since.elapsed();
        }
    }
}

fn main() {
    let has = |name| std::env::args().any(|argument| argument == name);
    let rounds = if has("--short") || has("--instructions") { 60 } else { 300 };
    println!("{ENTITIES} entities that all move, {CLIENTS} clients on ordered links, 20 ticks and snapshots a second.");
    println!(
        "The whole tick: an input of every client, simulation, index, interest, encoding and packets; one thread."
    );
    let settings = RoomSettings {
        tick_hz: 20,
        snapshot_hz: 20,
        entities_max: ENTITIES,
        players_max: CLIENTS,
        bounds: WorldBounds { min: [-EDGE; 2], max: [EDGE; 2] },
        interest: Some(InterestSettings { radius: 100.0, ..InterestSettings::default() }),
        rings: Vec::new(),
        ..RoomSettings::default()
    };
    let mut room = Room::builder(Crowd, settings).seed(1).build().expect("the settings are valid");
    let join = |number| {
        room.handle().join(JoinRequest { user: format!("{number}"), ..JoinRequest::default() }, DeliveryOrder::Ordered)
    };
    let endpoints: Vec<ConnectionEndpoint> =
        (0..CLIENTS).map(|number| join(number).expect("the mailbox is not full")).collect();
    let mut times = Vec::new();
    let mut stages = [Duration::ZERO; 5];
    let (mut bytes, mut updates, mut checksum) = (0, 0, 0);
    for round in 0..rounds + WARM_UP_ROUNDS {
        steer(&endpoints, round as u32 + 1);
        let mut watch = Watch::default();
        if round < WARM_UP_ROUNDS {
            room.tick(&mut watch);
            read(&endpoints, &mut checksum);
        } else {
            let start = Instant::now();
            measured_tick(&mut room, &mut watch);
            times.push(start.elapsed());
            let read = read(&endpoints, &mut checksum);
            bytes += read;
            updates += watch.updates;
            stages.iter_mut().zip(watch.stages).for_each(|(sum, time)| *sum += time);
        }
    }
    times.sort_unstable();
    for (stage, time) in TickStage::ALL.iter().zip(stages) {
        println!("{:>9}: {:.3} ms on average", stage.label(), time.as_secs_f64() * 1e3 / times.len() as f64);
    }
    println!(
        "{:.1} updates and {:.0} bytes a client and tick, {:.2} bytes an update",
        updates as f64 / (times.len() * CLIENTS) as f64,
        bytes as f64 / (times.len() * CLIENTS) as f64,
        bytes as f64 / updates as f64,
    );
    let figure = times[times.len() / 2].as_secs_f64() * 1e3;
    println!("p99 {:.3} ms", times[times.len() * 99 / 100].as_secs_f64() * 1e3);
    println!("checksum of all packets {checksum:016x}");
    println!("measured: {} ticks", times.len());
    println!("world: {figure:.3} ms (for orientation; the aim is a number of instructions)");
}

/// One tick. `cargo xtask bench --instructions` counts the instructions of this function.
#[inline(never)]
fn measured_tick(room: &mut Room<Crowd>, watch: &mut Watch) {
    room.tick(watch);
}

/// Every client sends an input.
fn steer(endpoints: &[ConnectionEndpoint], seq: u32) {
    for endpoint in endpoints {
        endpoint.push(input(seq, seq as i32 % 3 - 1)).expect("the inbox is not full");
    }
}

/// Prime of the checksum, FNV-1a.
const CHECKSUM_PRIME: u64 = 0x100_0000_01b3;

/// Every client takes its packets.
fn read(endpoints: &[ConnectionEndpoint], checksum: &mut u64) -> usize {
    let mut bytes = 0;
    for endpoint in endpoints {
        while endpoint.next_reliable().is_some() {}
        while let Some(packet) = endpoint.next_state() {
            bytes += packet.len();
            *checksum =
                packet.iter().fold(*checksum, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(CHECKSUM_PRIME));
            endpoint.recycle(packet);
        }
    }
    bytes
}
