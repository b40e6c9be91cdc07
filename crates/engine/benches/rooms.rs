//! Rooms of 10 clients at 20 Hz on one tick thread: finds the largest number whose ticks start on time.

mod support;

use aether_engine::{
    ConnectionEndpoint, Context, Game, GameSchemaBuilder, JoinRequest, MonotonicClock, NoObserver, Observer, Room,
    RoomCounts, RoomSettings, Scheduler,
};
use aether_replication::DeliveryOrder;
use aether_wire::{PlayerId, Tick};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};
use support::{Body, Turn, input};

const PER_ROOM: usize = 10;
const HERTZ: u32 = 20;
const STEP: Duration = Duration::from_millis(50);
/// Number of rooms that one tick thread should carry.
const AIM: usize = 2_000;
/// Lateness that 99 of 100 ticks must stay within.
const LATE_MAX_MS: f64 = 2.0;
/// Share of the snapshots that clients must take in time. Below it, the clients are too slow, and rooms with nothing to
/// send are no measurement.
const TAKEN_MIN: f64 = 0.95;
/// Attempts of a number of rooms. Other programs may take the processor in one of them.
const ATTEMPTS: usize = 3;
/// Groups of clients per step. Each group acts at another time of the step.
const TURNS_PER_STEP: u32 = 50;
/// Lateness is counted in steps of 10 µs, up to a second.
const BUCKET: Duration = Duration::from_micros(10);
const BUCKETS: usize = 100_000;
/// Rooms and rounds whose instructions are counted. This many rooms do not fit a cache of the second level.
const COUNTED_ROOMS: usize = 200;
const COUNTED_ROUNDS: u32 = 20;
/// Rounds before them: memory is allocated.
const WARM_UP_ROUNDS: u32 = 20;

/// Ten players who move all the time and see each other.
struct Match;

impl Game for Match {
    type Input = Turn;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Body>()
    }

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
    snapshots: AtomicU64,
    snapshots_skipped: AtomicU64,
}

impl Lateness {
    fn new() -> Self {
        Lateness {
            measuring: AtomicBool::new(false),
            buckets: std::iter::repeat_with(AtomicU64::default).take(BUCKETS).collect(),
            dropped: AtomicU64::new(0),
            snapshots: AtomicU64::new(0),
            snapshots_skipped: AtomicU64::new(0),
        }
    }

    /// Measures for some time.
    fn measure(&self, rooms: usize, time: Duration) -> Attempt {
        let counts = [&self.dropped, &self.snapshots, &self.snapshots_skipped];
        self.buckets.iter().chain(counts).for_each(|count| count.store(0, Ordering::Relaxed));
        self.measuring.store(true, Ordering::Relaxed);
        std::thread::sleep(time);
        self.measuring.store(false, Ordering::Relaxed);
        let [dropped, built, skipped] = counts.map(|count| count.load(Ordering::Relaxed) as f64);
        let ticks: u64 = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).sum();
        Attempt {
            p50_ms: self.percentile_ms((ticks as f64 * 0.5) as u64),
            p99_ms: self.percentile_ms((ticks as f64 * 0.99) as u64),
            ticks: ticks as f64 / (rooms as f64 * f64::from(HERTZ) * time.as_secs_f64()),
            dropped: dropped as u64,
            taken: built / (built + skipped).max(1.0),
        }
    }

    /// Returns the delay that this number of ticks stays within.
    fn percentile_ms(&self, ticks: u64) -> f64 {
        let mut seen = 0;
        let within = |bucket: &AtomicU64| {
            seen += bucket.load(Ordering::Relaxed);
            seen >= ticks
        };
        let bucket = self.buckets.iter().position(within).unwrap_or(BUCKETS);
        (BUCKET * (bucket as u32 + 1)).as_secs_f64() * 1e3
    }
}

struct Watch(Arc<Lateness>);

impl Observer for Watch {
    fn tick_started(&mut self, late: Duration) {
        if self.0.measuring.load(Ordering::Relaxed) {
            let bucket = (late.as_nanos() / BUCKET.as_nanos()) as usize;
            self.0.buckets[bucket.min(BUCKETS - 1)].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn tick_finished(&mut self, _tick: Tick, counts: &RoomCounts) {
        if self.0.measuring.load(Ordering::Relaxed) {
            self.0.snapshots.fetch_add(counts.snapshots, Ordering::Relaxed);
            self.0.snapshots_skipped.fetch_add(counts.snapshots_skipped, Ordering::Relaxed);
        }
    }

    fn ticks_dropped(&mut self, ticks: u32) {
        if self.0.measuring.load(Ordering::Relaxed) {
            self.0.dropped.fetch_add(u64::from(ticks), Ordering::Relaxed);
        }
    }
}

/// Result of one measurement.
struct Attempt {
    p50_ms: f64,
    p99_ms: f64,
    /// Ticks that ran, as a share of those that were due.
    ticks: f64,
    dropped: u64,
    /// Share of the snapshots that the clients took in time.
    taken: f64,
}

impl Attempt {
    fn is_on_time(&self) -> bool {
        self.p99_ms <= LATE_MAX_MS && self.dropped == 0 && self.taken >= TAKEN_MIN
    }
}

/// Numbers of rooms to try, and the length of each measurement.
struct Climb {
    first: usize,
    step: usize,
    last: usize,
    settle: Duration,
    time: Duration,
}

const LONG: Climb = Climb {
    first: 500,
    step: 100,
    last: 6_000,
    settle: Duration::from_millis(500),
    time: Duration::from_millis(2_000),
};

const SHORT: Climb =
    Climb { first: 50, step: 50, last: 100, settle: Duration::from_millis(200), time: Duration::from_millis(300) };

fn main() {
    let has = |name| std::env::args().any(|argument| argument == name);
    if has("--instructions") {
        count_instructions();
        return;
    }
    let climb = if has("--short") { SHORT } else { LONG };
    println!(
        "Rooms of {PER_ROOM} clients, {HERTZ} ticks and snapshots a second, on one tick thread, starts staggered."
    );
    println!("Everyone moves all the time; a thread of their own sends the inputs and takes the state of all clients.");
    let rooms = largest_on_time(&climb);
    println!(
        "rooms: {rooms} rooms with p99 of tick starts within {LATE_MAX_MS} ms, aim {AIM} rooms: {}",
        if rooms >= AIM { "met" } else { "missed" }
    );
}

/// Adds rooms in steps until their ticks start late. Returns the largest number of rooms that was on time.
fn largest_on_time(climb: &Climb) -> usize {
    let lateness = Arc::new(Lateness::new());
    let scheduler = Scheduler::new(1, Arc::new(SystemClock(Instant::now())));
    let (joined, joining) = channel();
    let clients = std::thread::spawn(move || play(&joining));
    let (mut running, mut carried) = (0, 0);
    for rooms in (climb.first..=climb.last).step_by(climb.step) {
        while running < rooms {
            start(running as u64, &scheduler, &lateness, &joined);
            running += 1;
        }
        if !is_carried(rooms, climb, &lateness) {
            break;
        }
        carried = rooms;
    }
    drop(joined);
    clients.join().expect("the clients play to the end");
    scheduler.stop();
    carried
}

fn is_carried(rooms: usize, climb: &Climb, lateness: &Lateness) -> bool {
    for _ in 0..ATTEMPTS {
        // All clients have joined, and memory is allocated.
        std::thread::sleep(climb.settle);
        let attempt = lateness.measure(rooms, climb.time);
        println!(
            "{rooms:>5} rooms: late by p50 {:.2} ms, p99 {:.2} ms; {:.1} % of the ticks, {} dropped; {:.1} % of the snapshots taken",
            attempt.p50_ms,
            attempt.p99_ms,
            attempt.ticks * 100.0,
            attempt.dropped,
            attempt.taken * 100.0,
        );
        if attempt.is_on_time() {
            return true;
        }
    }
    false
}

/// Ticks rooms in turn, without a scheduler. The instructions of [`measured_tick`] are counted from outside.
fn count_instructions() {
    let (mut rooms, endpoints): (Vec<_>, Vec<_>) = (0..COUNTED_ROOMS as u64).map(room).unzip();
    for round in 0..WARM_UP_ROUNDS + COUNTED_ROUNDS {
        endpoints.iter().flatten().for_each(|endpoint| steer(endpoint, round + 1));
        for room in &mut rooms {
            if round < WARM_UP_ROUNDS {
                room.tick(&mut NoObserver);
                room.wake_connections();
            } else {
                measured_tick(room);
            }
        }
        endpoints.iter().flatten().for_each(take);
    }
    println!("measured: {} ticks", COUNTED_ROOMS as u32 * COUNTED_ROUNDS);
}

#[inline(never)]
fn measured_tick(room: &mut Room<Match>) {
    room.tick(&mut NoObserver);
    room.wake_connections();
}

/// A room with its clients.
fn room(number: u64) -> (Room<Match>, Vec<ConnectionEndpoint>) {
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
    (room, endpoints)
}

/// Starts a room, and hands its clients over.
fn start(number: u64, scheduler: &Scheduler, lateness: &Arc<Lateness>, joined: &Sender<Vec<ConnectionEndpoint>>) {
    let (room, endpoints) = room(number);
    scheduler.add(room, Watch(Arc::clone(lateness)));
    joined.send(endpoints).expect("the clients play until all have joined");
}

/// Every client sends an input each step and takes its packets.
fn play(joining: &Receiver<Vec<ConnectionEndpoint>>) {
    let start = Instant::now();
    let mut endpoints = Vec::new();
    for turn in 0_u32.. {
        loop {
            match joining.try_recv() {
                Ok(joined) => endpoints.extend(joined),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
        let part = (turn % TURNS_PER_STEP) as usize;
        for endpoint in endpoints.iter().skip(part).step_by(TURNS_PER_STEP as usize) {
            steer(endpoint, turn / TURNS_PER_STEP + 1);
            take(endpoint);
        }
        std::thread::sleep((STEP * turn / TURNS_PER_STEP).saturating_sub(start.elapsed()));
    }
}

fn steer(endpoint: &ConnectionEndpoint, seq: u32) {
    let _ = endpoint.push(input(seq, (seq / 8) as i32 % 3 - 1));
}

fn take(endpoint: &ConnectionEndpoint) {
    while endpoint.next_reliable().is_some() {}
    while let Some(packet) = endpoint.next_state() {
        endpoint.recycle(packet);
    }
}
