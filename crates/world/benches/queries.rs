//! Cost of the spatial queries of games.
//!
//! In every tick all entities move, and every entity asks one query of a kind, about the present or about a past time
//! that differs from entity to entity. The time includes the index, which the first query of a tick builds. The last
//! line compares the slowest kind with a comparison with all entities.

use aether_bits::{Random, Replicate};
use aether_space::WorldBounds;
use aether_wire::Tick;
use aether_world::{FoundEntity, SpatialQuery, World};
use std::hint::black_box;
use std::time::{Duration, Instant};

const ENTITIES: usize = 10_000;
/// Half of the side of the world: as in the benchmark `interest`.
const HALF_SIDE: f32 = 2_085.0;
const SPEED: f32 = 5.0;
const REWIND_TICKS: u16 = 20;
/// Past ticks that the queries ask for.
const TICKS_BACK: usize = 8;
const RADIUS: f32 = 50.0;
const NEAREST: usize = 8;
const RAY_LENGTH: f32 = 200.0;
const RAY_RADIUS: f32 = 4.0;
/// Queries that compare all entities in each tick. They are slow, so there are fewer.
const COMPARED: usize = 100;
const RATIO_AIM: f64 = 30.0;
const NANOSECONDS_AIM: f64 = 1_000.0;

#[derive(Clone, Replicate)]
#[replicate(position = position)]
struct Body {
    #[replicate(range = -4000.0..=4000.0, step = 0.01)]
    position: [f32; 2],
    #[replicate(skip)]
    velocity: [f32; 2],
}

/// A query of one kind around a position.
type Ask = fn(SpatialQuery<'_>, [f32; 2], &mut Vec<FoundEntity>);

/// Kinds of queries: name, and the query.
const KINDS: [(&str, Ask); 4] = [
    ("near", |query, at, found| query.near(at, RADIUS, found)),
    ("nearest", |query, at, found| query.nearest(at, f32::INFINITY, NEAREST, found)),
    ("in_rect", |query, [x, y], found| query.in_rect([x - RADIUS, y - RADIUS], [x + RADIUS, y + RADIUS], found)),
    ("ray", |query, at, found| query.ray(at, [1.0, 0.5], RAY_LENGTH, RAY_RADIUS, found)),
];

/// Median times of one kind, per query.
struct Measurement {
    query: f64,
    compared: f64,
    found: f64,
}

fn main() {
    let is_short = std::env::args().any(|argument| argument == "--short");
    let ticks = if is_short { 3 } else { 60 };
    println!(
        "{ENTITIES} entities, all moving; in each of {ticks} ticks every entity asks one query of a kind; radius \
         {RADIUS}, nearest {NEAREST}, ray of length {RAY_LENGTH} and radius {RAY_RADIUS}; median, one thread"
    );
    println!("\n                  found   ns per query   comparing all   ratio");
    let (mut ratio, mut nanoseconds) = (f64::INFINITY, 0.0_f64);
    for is_past in [false, true] {
        for (name, ask) in KINDS {
            let measured = measure(ask, is_past, ticks);
            let name = format!("{name}, {}", if is_past { "past" } else { "now" });
            let faster = measured.compared / measured.query;
            println!(
                "{name:<15} {:>7.1} {:>14.0} {:>15.0} {faster:>7.0}",
                measured.found, measured.query, measured.compared
            );
            ratio = ratio.min(faster);
            nanoseconds = nanoseconds.max(measured.query);
        }
    }
    let verdict = |met: bool| if met { "met" } else { "missed" };
    println!(
        "queries-time: {nanoseconds:.0} ns for the slowest, aim under {NANOSECONDS_AIM} ns: {}",
        verdict(nanoseconds < NANOSECONDS_AIM)
    );
    println!(
        "queries: {ratio:.0} times faster than comparing all, aim {RATIO_AIM} times or more: {}",
        verdict(ratio >= RATIO_AIM)
    );
}

fn measure(ask: Ask, is_past: bool, ticks: usize) -> Measurement {
    let mut world = scene();
    let (mut found, mut compared) = (Vec::new(), Vec::new());
    let (mut times, mut compared_times, mut found_count) = (Vec::new(), Vec::new(), 0);
    for _ in 0..ticks {
        world.advance();
        let centers: Vec<[f32; 2]> = world.each::<Body>().map(|(_, body)| body.position).collect();
        let began = Instant::now();
        for (number, center) in centers.iter().enumerate() {
            ask(query(&world, is_past, number), *center, &mut found);
            found_count += black_box(&found).len();
        }
        times.push(began.elapsed() / ENTITIES as u32);
        let began = Instant::now();
        for (number, center) in centers.iter().enumerate().take(COMPARED) {
            compare_all(&world, is_past, number, *center, &mut compared);
            black_box(&compared);
        }
        compared_times.push(began.elapsed() / COMPARED as u32);
        advance(&mut world);
    }
    Measurement {
        query: median(times),
        compared: median(compared_times),
        found: found_count as f64 / (ticks * ENTITIES) as f64,
    }
}

/// Returns queries about the present, or about a time that depends on the number.
fn query(world: &World, is_past: bool, number: usize) -> SpatialQuery<'_> {
    let (tick, fraction) = view(world, number);
    let past = is_past.then(|| world.query_at(tick, fraction).expect("there is a history"));
    past.unwrap_or_else(|| world.query())
}

fn view(world: &World, number: usize) -> (Tick, f32) {
    (Tick(world.tick().0 - 1 - (number % TICKS_BACK) as u32), (number % 7) as f32 / 7.0)
}

/// The search that a game would write without an index: the entities within the radius.
fn compare_all(world: &World, is_past: bool, number: usize, center: [f32; 2], found: &mut Vec<FoundEntity>) {
    found.clear();
    let (tick, fraction) = view(world, number);
    for entity in world.entities() {
        let position = match is_past {
            true => world.rewind().position_at(entity, tick, fraction),
            false => world.position(entity),
        };
        let Some([x, y]) = position else { continue };
        let distance_squared = (x - center[0]).powi(2) + (y - center[1]).powi(2);
        if distance_squared <= RADIUS * RADIUS {
            found.push(FoundEntity { entity, position: [x, y, 0.0], distance: distance_squared.sqrt() });
        }
    }
}

/// A world whose history is full.
fn scene() -> World {
    let bounds = WorldBounds { min: [-HALF_SIDE; 2], max: [HALF_SIDE; 2] };
    let mut world = World::builder().component::<Body>().rewind_ticks(REWIND_TICKS).bounds(bounds).build();
    let mut random = Random::new(1);
    world.advance();
    for _ in 0..ENTITIES {
        let [position, velocity] =
            [HALF_SIDE, SPEED].map(|limit| [random.between(-limit, limit), random.between(-limit, limit)]);
        world.spawn(Body { position, velocity }).expect("the world has no limit");
    }
    world.settle();
    for _ in 0..REWIND_TICKS {
        world.advance();
        advance(&mut world);
    }
    world
}

/// Moves all entities, which bounce off the border, and ends the tick.
fn advance(world: &mut World) {
    world.each_mut(|_, body: &mut Body| {
        for (coordinate, speed) in body.position.iter_mut().zip(&mut body.velocity) {
            if (*coordinate + *speed).abs() > HALF_SIDE {
                *speed = -*speed;
            }
            *coordinate += *speed;
        }
    });
    world.settle();
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_nanos() as f64
}
