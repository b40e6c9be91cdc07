//! Cost of the spatial index and the interest sets of one tick.
//!
//! A step rebuilds the index over all entities and updates the interest set of every viewer, with hysteresis. The last
//! line compares the time of the grid with the target.

use std::time::{Duration, Instant};

use aether_space::{
    Grid, IndexedPoint, InterestChanges, InterestManager, InterestSettings, PointRun, Quadtree, SlotSet, SpatialIndex,
    Viewer, WorldBounds, distance_squared,
};

const ENTITIES: u32 = 10_000;
/// Number of viewers. The first entities are the players, and every player is a viewer.
const VIEWERS: usize = 1_000;
/// Half of the side of the world. With the default settings, about 76 entities are visible.
const HALF_SIDE: f32 = 2_085.0;
/// Default of the movement rules, per axis.
const SPEED_MAX: f32 = 5.0;
const SEED: u64 = 1;
const STEPS_WARMUP: usize = 40;
const STEPS: usize = 300;
const AIM: Duration = Duration::from_millis(1);

fn main() {
    let settings = InterestSettings::default();
    let bounds = WorldBounds { min: [-HALF_SIDE; 2], max: [HALF_SIDE; 2] };
    println!(
        "{ENTITIES} entities, all moving up to {SPEED_MAX} units a step per axis; {VIEWERS} viewers; \
         radius {}, hysteresis {:.0} %; median of {STEPS} steps, one thread",
        settings.radius,
        settings.hysteresis * 100.0,
    );
    let grid = Grid::new(bounds, settings.outer_radius()).expect("the bounds are valid");
    let grid = measure(grid, settings);
    grid.print("grid");
    let quadtree = measure(Quadtree::new(), settings);
    quadtree.print("quadtree");
    let brute_force = measure(BruteForce::default(), settings);
    brute_force.print("brute force");
    assert!(
        grid.totals == brute_force.totals && quadtree.totals == brute_force.totals,
        "all three find the same entities",
    );
    let per_step = |total: usize| total as f64 / STEPS as f64;
    println!(
        "visible per viewer: {:.1}; per step: {:.0} enter, {:.0} leave",
        per_step(grid.totals.visible) / VIEWERS as f64,
        per_step(grid.totals.entered),
        per_step(grid.totals.left),
    );
    println!(
        "interest: {:.3} ms, aim under {} ms: {}",
        milliseconds(grid.step),
        AIM.as_millis(),
        if grid.step < AIM { "met" } else { "missed" },
    );
}

/// Results of all steps.
struct Measurement {
    step: Duration,
    rebuild: Duration,
    totals: Totals,
}

#[derive(Default, PartialEq)]
struct Totals {
    visible: usize,
    entered: usize,
    left: usize,
}

impl Measurement {
    fn print(&self, name: &str) {
        println!(
            "{name}: {:.3} ms, of which the rebuild is {:.3} ms",
            milliseconds(self.step),
            milliseconds(self.rebuild),
        );
    }
}

fn measure(mut index: impl SpatialIndex, settings: InterestSettings) -> Measurement {
    let mut world = World::new();
    let mut interest = InterestManager::new(settings).expect("the settings are the defaults");
    let mut sets = vec![SlotSet::new(); VIEWERS];
    let mut changes = InterestChanges::new();
    let none = SlotSet::new();
    let (mut steps, mut rebuilds) = (Vec::new(), Vec::new());
    let mut totals = Totals::default();
    for step in 0..STEPS_WARMUP + STEPS {
        world.advance();
        let mut step_totals = Totals::default();
        let start = Instant::now();
        index.rebuild(&world.points);
        let rebuild = start.elapsed();
        for (point, visible) in world.points.iter().zip(&mut sets) {
            let viewer = Viewer { center: Some([point.x, point.y]), always: &none, hidden: &none };
            interest.update(&index, &viewer, visible, &mut changes);
            step_totals.visible += visible.len();
            step_totals.entered += changes.entered.len();
            step_totals.left += changes.left.len();
        }
        let time = start.elapsed();
        if step >= STEPS_WARMUP {
            steps.push(time);
            rebuilds.push(rebuild);
            totals.visible += step_totals.visible;
            totals.entered += step_totals.entered;
            totals.left += step_totals.left;
        }
    }
    Measurement { step: median(steps), rebuild: median(rebuilds), totals }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Entities that move straight and bounce off the border of the world.
struct World {
    points: Vec<IndexedPoint>,
    velocities: Vec<[f32; 2]>,
}

impl World {
    fn new() -> Self {
        let mut state = SEED;
        let mut random = move |limit: f32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) as f32 / (1u32 << 23) as f32 - 1.0) * limit
        };
        let points = (0..ENTITIES).map(|slot| IndexedPoint { slot, x: random(HALF_SIDE), y: random(HALF_SIDE) });
        Self {
            points: points.collect(),
            velocities: (0..ENTITIES).map(|_| [random(SPEED_MAX), random(SPEED_MAX)]).collect(),
        }
    }

    fn advance(&mut self) {
        for (point, velocity) in self.points.iter_mut().zip(&mut self.velocities) {
            for (coordinate, speed) in [&mut point.x, &mut point.y].into_iter().zip(velocity) {
                if (*coordinate + *speed).abs() > HALF_SIDE {
                    *speed = -*speed;
                }
                *coordinate += *speed;
            }
        }
    }
}

/// No index: every query visits every point.
#[derive(Default)]
struct BruteForce {
    x: Vec<f32>,
    y: Vec<f32>,
    slot: Vec<u32>,
}

impl SpatialIndex for BruteForce {
    fn rebuild(&mut self, points: &[IndexedPoint]) {
        self.x.clear();
        self.x.extend(points.iter().map(|point| point.x));
        self.y.clear();
        self.y.extend(points.iter().map(|point| point.y));
        self.slot.clear();
        self.slot.extend(points.iter().map(|point| point.slot));
    }

    fn len(&self) -> usize {
        self.slot.len()
    }

    fn slot_end(&self) -> usize {
        self.slot.len()
    }

    fn spacing(&self) -> f32 {
        0.0
    }

    fn visit_runs(&self, center: [f32; 2], radius: f32, mut visit: impl FnMut(PointRun<'_>)) {
        const LANES: usize = 16;
        let radius_squared = radius * radius;
        let runs = (self.x.chunks(LANES)).zip(self.y.chunks(LANES)).zip(self.slot.chunks(LANES));
        for ((x, y), slot) in runs {
            let inside: u32 =
                (x.iter().zip(y)).map(|(&x, &y)| u32::from(distance_squared(center, x, y) <= radius_squared)).sum();
            if inside != 0 {
                visit(PointRun { x, y, slot });
            }
        }
    }
}
