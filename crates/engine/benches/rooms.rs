//! 2,000 rooms of 10 clients at 20 Hz on the tick threads of one process: measures the delay of their ticks.

mod support;

use aether_engine::{
    ConnectionEndpoint, Context, Game, GameSchemaBuilder, JoinRequest, MonotonicClock, Observer, Room, RoomSettings,
    Scheduler,
};
use aether_replication::DeliveryOrder;
use aether_wire::PlayerId;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use support::{Body, Turn, input};

const ROOMS: usize = 2_000;
const PER_ROOM: usize = 10;
const HERTZ: u32 = 20;
const STEP: Duration = Duration::from_millis(50);
/// Groups of clients per step. Each group acts at another time of the step.
const TURNS_PER_STEP: u32 = 50;
/// Lateness is counted in steps of 10 µs, up to a second.
const BUCKET: Duration = Duration::from_micros(10);
const BUCKETS: usize = 100_000;

/// Ten players who move all the time and see each other.
struct Match;

impl Game for Match {
    type Input = Turn;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Body>()
    }

    fn init(&mut self, _room: &mut Context<'_>) {}

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let position = [room.random.between(-90.0, 90.0), room.random.between(-90.0, 90.0)];
        let body =
            room.world.spawn(Body { position, velocity: [0.0; 2], heading: 0.0 }).expect("the queue is not full");
        room.possess(player, body);
    }

    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Turn) {
        let body = room.possession(player).expect("every player has one");
        if let Some(body) = room.world.get_mut::<Body>(body) {
            body.heading += input.turn as f32 * 0.1;
        }
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        let seconds = room.seconds_per_tick();
        room.world.each_mut(|_, body: &mut Body| {
            if body.position.iter().any(|place| place.abs() > 100.0) {
                body.heading = (-body.position[1]).atan2(-body.position[0]);
            }
            body.velocity = [body.heading.cos() * 10.0, body.heading.sin() * 10.0];
            for axis in 0..2 {
                body.position[axis] += body.velocity[axis] * seconds;
            }
        });
    }
}

struct SystemClock(Instant);

impl MonotonicClock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Measurements of all rooms.
struct Lateness {
    measuring: AtomicBool,
    buckets: Vec<AtomicU64>,
    dropped: AtomicU64,
}

struct Watch(Arc<Lateness>);

impl Observer for Watch {
    fn tick_started(&mut self, late: Duration) {
        if self.0.measuring.load(Ordering::Relaxed) {
            let bucket = (late.as_nanos() / BUCKET.as_nanos()) as usize;
            self.0.buckets[bucket.min(BUCKETS - 1)].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn ticks_dropped(&mut self, ticks: u32) {
        if self.0.measuring.load(Ordering::Relaxed) {
            self.0.dropped.fetch_add(u64::from(ticks), Ordering::Relaxed);
        }
    }
}

fn main() {
    let is_short = std::env::args().any(|argument| argument == "--short");
    let (rooms, time) = if is_short { (200, Duration::from_secs(1)) } else { (ROOMS, Duration::from_secs(12)) };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).saturating_sub(1).max(1);
    println!("{rooms} rooms of {PER_ROOM} clients, {HERTZ} ticks and snapshots a second, {threads} tick threads.");
    println!("Everyone moves all the time; a thread of their own sends the inputs and takes the state of all clients.");
    let buckets = std::iter::repeat_with(AtomicU64::default).take(BUCKETS).collect();
    let lateness = Arc::new(Lateness { measuring: AtomicBool::new(false), buckets, dropped: AtomicU64::new(0) });
    let scheduler = Scheduler::new(threads, Arc::new(SystemClock(Instant::now())));
    let endpoints: Vec<ConnectionEndpoint> =
        (0..rooms).flat_map(|number| start(number as u64, &scheduler, &lateness)).collect();
    let over = Arc::new(AtomicBool::new(false));
    let clients = {
        let over = Arc::clone(&over);
        std::thread::spawn(move || play(&endpoints, &over))
    };
    // All clients have joined, and memory is allocated.
    std::thread::sleep(Duration::from_secs(2));
    lateness.measuring.store(true, Ordering::Relaxed);
    std::thread::sleep(time);
    lateness.measuring.store(false, Ordering::Relaxed);
    over.store(true, Ordering::Relaxed);
    let packets = clients.join().expect("the clients play to the end");
    let ticks: u64 = lateness.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).sum();
    let per_second = ticks as f64 / time.as_secs_f64();
    println!("{per_second:.0} ticks a second of {}; the clients took {packets} packets", rooms as u32 * HERTZ);
    println!("{} ticks were dropped", lateness.dropped.load(Ordering::Relaxed));
    let percentile = |share: f64| percentile_ms(&lateness, (ticks as f64 * share) as u64);
    println!("late by p50 {:.2} ms, p90 {:.2} ms, p99.9 {:.2} ms", percentile(0.5), percentile(0.9), percentile(0.999));
    let figure = percentile(0.99);
    println!("rooms: {figure:.2} ms p99 late, aim within 2 ms: {}", if figure <= 2.0 { "met" } else { "missed" });
    scheduler.stop();
}

/// A room with its clients.
fn start(number: u64, scheduler: &Scheduler, lateness: &Arc<Lateness>) -> Vec<ConnectionEndpoint> {
    let settings = RoomSettings {
        tick_hz: HERTZ,
        snapshot_hz: HERTZ,
        entities_max: PER_ROOM,
        players_max: PER_ROOM,
        ..RoomSettings::default()
    };
    let room = Room::builder(Match, settings).seed(number).build().expect("the settings are valid");
    let handle = room.handle();
    let join = |player| {
        handle.join(JoinRequest { user: format!("{player}"), ..JoinRequest::default() }, DeliveryOrder::Ordered)
    };
    let endpoints = (0..PER_ROOM).map(|player| join(player).expect("the mailbox is not full")).collect();
    scheduler.add(room, Watch(Arc::clone(lateness)));
    endpoints
}

/// Every client sends an input each step and takes its packets. Returns the number of state packets.
fn play(endpoints: &[ConnectionEndpoint], over: &AtomicBool) -> u64 {
    let start = Instant::now();
    let mut packets = 0;
    for turn in 0_u32.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let part = (turn % TURNS_PER_STEP) as usize;
        let seq = turn / TURNS_PER_STEP + 1;
        for endpoint in endpoints.iter().skip(part).step_by(TURNS_PER_STEP as usize) {
            let _ = endpoint.push(input(seq, (seq / 8) as i32 % 3 - 1));
            while endpoint.next_reliable().is_some() {}
            while let Some(packet) = endpoint.next_state() {
                packets += 1;
                endpoint.recycle(packet);
            }
        }
        std::thread::sleep((STEP * turn / TURNS_PER_STEP).saturating_sub(start.elapsed()));
    }
    packets
}

/// Returns the delay that a share of the ticks stays within.
fn percentile_ms(lateness: &Lateness, ticks: u64) -> f64 {
    let mut seen = 0;
    let within = |bucket: &AtomicU64| {
        seen += bucket.load(Ordering::Relaxed);
        seen >= ticks
    };
    let bucket = lateness.buckets.iter().position(within).unwrap_or(BUCKETS);
    (BUCKET * (bucket as u32 + 1)).as_secs_f64() * 1e3
}
