//! The send stage of a large room by one thread and by several, in one run: how much the encoding threads gain.

mod support;

use aether_engine::{
    ConnectionEndpoint, Context, EncodePool, Game, GameSchemaBuilder, JoinRequest, Observer, Random, Room,
    RoomSettings, TickStage, encode_pool,
};
use aether_replication::DeliveryOrder;
use aether_space::{InterestSettings, WorldBounds};
use aether_wire::{PlayerId, Tick};
use std::time::{Duration, Instant};
use support::{Body, Turn, input};

const ENTITIES: usize = 4_000;
const CLIENTS: usize = 600;
/// The area in which a radius of 200 holds about 125 entities.
const EDGE: f32 = 1_000.0;
/// Rounds before the measured ones: all clients have all that they see.
const WARM_UP_ROUNDS: usize = 20;
/// Gain of two threads that the pool is worth it for, on a machine with two free cores.
const GAIN_AIM: f64 = 1.3;

/// Everything moves all the time.
struct Crowd;

impl Game for Crowd {
    type Input = Turn;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Body>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        for _ in 0..ENTITIES - CLIENTS {
            let body = somewhere(room.random);
            room.world.spawn(body).expect("the room is not full");
        }
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let body = somewhere(room.random);
        let entity = room.world.spawn(body).expect("the room is not full");
        room.possess(player, entity);
    }

    fn input(&mut self, _: &mut Context<'_>, _: PlayerId, _: &Turn) {}

    fn tick(&mut self, room: &mut Context<'_>) {
        let seconds = room.seconds_per_tick();
        let random = &mut *room.random;
        room.world.each_mut(|_, body: &mut Body| {
            for axis in 0..2 {
                body.velocity[axis] = (body.velocity[axis] + random.between(-0.5, 0.5)).clamp(-20.0, 20.0);
                body.position[axis] = (body.position[axis] + body.velocity[axis] * seconds).clamp(-EDGE, EDGE);
            }
        });
    }
}

fn somewhere(random: &mut Random) -> Body {
    Body {
        position: [random.between(-EDGE, EDGE), random.between(-EDGE, EDGE)],
        velocity: [random.between(-15.0, 15.0), random.between(-15.0, 15.0)],
        heading: 0.0,
    }
}

/// Measures the send stage.
#[derive(Default)]
struct SendWatch {
    began: Option<Instant>,
    send: Duration,
}

impl Observer for SendWatch {
    fn stage(&mut self, _tick: Tick, stage: TickStage) {
        self.began = (stage == TickStage::Send).then(Instant::now);
    }

    fn tick_finished(&mut self, _tick: Tick, _counts: &aether_engine::RoomCounts) {
        self.send = self.began.take().map_or(Duration::ZERO, |began| began.elapsed());
    }
}

/// A room whose state this many threads encode, and its clients.
struct Arm {
    threads: usize,
    room: Room<Crowd>,
    endpoints: Vec<ConnectionEndpoint>,
    times: Vec<Duration>,
    checksum: u64,
}

impl Arm {
    fn new(threads: usize) -> Arm {
        let settings = RoomSettings {
            tick_hz: 20,
            snapshot_hz: 20,
            entities_max: ENTITIES,
            players_max: CLIENTS,
            bounds: WorldBounds { min: [-EDGE; 2], max: [EDGE; 2] },
            interest: Some(InterestSettings::default()),
            rings: Vec::new(),
            ..RoomSettings::default()
        };
        let mut builder = Room::builder(Crowd, settings).seed(1);
        if threads > 1 {
            let pool: EncodePool = encode_pool(threads).expect("the threads start");
            builder = builder.pool(pool);
        }
        let room = builder.build().expect("the settings are valid");
        let join = |number: usize| {
            let request = JoinRequest { user: number.to_string(), ..JoinRequest::default() };
            room.handle().join(request, DeliveryOrder::Ordered).expect("the mailbox is not full")
        };
        let endpoints = (0..CLIENTS).map(join).collect();
        Arm { threads, room, endpoints, times: Vec::new(), checksum: 0 }
    }

    fn round(&mut self, round: usize, is_measured: bool) {
        for endpoint in &self.endpoints {
            endpoint.push(input(round as u32 + 1, 0)).expect("the inbox is not full");
        }
        let mut watch = SendWatch::default();
        self.room.tick(&mut watch);
        if is_measured {
            self.times.push(watch.send);
        }
        for endpoint in &self.endpoints {
            while endpoint.next_reliable().is_some() {}
            while let Some(packet) = endpoint.next_state() {
                let sum = packet.iter().fold(self.checksum, |sum, &byte| sum.wrapping_mul(31) ^ u64::from(byte));
                self.checksum = sum;
                endpoint.recycle(packet);
            }
        }
    }

    /// Returns the shortest time, which another program on the machine disturbs least, and the median.
    fn result(&mut self) -> (f64, f64) {
        self.times.sort_unstable();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        (ms(self.times[0]), ms(self.times[self.times.len() / 2]))
    }
}

fn main() {
    let rounds = if std::env::args().any(|argument| argument == "--short") { 5 } else { 200 };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{ENTITIES} entities that all move, {CLIENTS} clients, about 125 visible each; {cores} cores.");
    println!("The send stage: gathering, encoding and packets of all clients. The arms take turns, tick by tick.");
    let mut arms: Vec<Arm> = [1, 2].into_iter().chain((cores > 2).then_some(cores)).map(Arm::new).collect();
    for round in 0..WARM_UP_ROUNDS + rounds {
        arms.iter_mut().for_each(|arm| arm.round(round, round >= WARM_UP_ROUNDS));
    }
    assert!(arms.iter().all(|arm| arm.checksum == arms[0].checksum), "all arms send the same bytes");
    println!("checksum of all packets, the same in all arms: {:016x}", arms[0].checksum);
    let results: Vec<_> = arms.iter_mut().map(|arm| (arm.threads, arm.result())).collect();
    let (_, (one_best, one_median)) = results[0];
    for &(threads, (best, median)) in &results {
        let gain = one_median / median;
        println!("{threads} threads: median {median:.3} ms, shortest {best:.3} ms; gain {gain:.2} by the medians");
    }
    // The shortest times compare what the threads can do when they run at the same time.
    let (_, (two_best, _)) = results[1];
    let gain = one_best / two_best;
    let verdict = if gain >= GAIN_AIM { "met" } else { "missed" };
    println!("encode-parallel: {gain:.2} times one thread, aim {GAIN_AIM}: {verdict}");
}
