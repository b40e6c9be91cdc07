//! 901 cubes at 60 Hz, pushed around by a player: the size of our packets against Glenn Fiedler's published schemes.

mod cubes_scene;
mod dissection;
mod fiedler;
mod lossy;
#[expect(dead_code, unused_imports, reason = "packets are only taken apart here, and their tests run elsewhere")]
#[path = "../src/packet.rs"]
mod packet;
mod rigid_body;
#[expect(dead_code, reason = "this bench needs a part of what the benches share")]
mod support;

use aether_bits::Replicate;
use aether_replication::{BASELINE_AGE_MAX, DeliveryOrder, Mirror, SendSettings};
use aether_space::SlotSet;
use aether_wire::{EntityId, Tick};
use aether_world::World;
use cubes_scene::{CUBE_COUNT, CubeState, CubesScene, SECONDS_PER_TICK, TICKS_PER_SECOND};
use dissection::{Costs, Entry, Past, dissect};
use fiedler::{ChangedCube, QuantizedCube, article_bits, reference_bits};
use lossy::{Conditions, Line, Sent};
use support::report;

const CONDITIONS: Conditions = Conditions { order: DeliveryOrder::Unordered, lag_ticks: 6, loss_percent: 2 };
const SEEDS: [u64; 3] = [1, 2, 3];

fn main() {
    let seconds = if std::env::args().any(|argument| argument == "--short") { 10 } else { 60 };
    println!("901 cubes at 60 Hz for {seconds} seconds, a player pushes them around; positions at 2 mm, rotations as");
    println!("smallest three of 9 bits. Baselines are 6 ticks old (100 ms there and back), 2 % are lost each way.");
    println!("Fiedler's schemes get the same changed cubes and baselines, and one header of 33 bits a snapshot.");
    let mut total = Tally::default();
    for seed in SEEDS {
        let tally = run(seed, seconds * TICKS_PER_SECOND);
        println!("seed {seed}:");
        tally.print();
        total += tally;
    }
    println!("all:");
    total.print();
    let percent = 100.0 * total.costs.total() as f64 / total.article_bits as f64;
    report("cubes", percent, "% of Fiedler's scheme", Some(("80 % or less", percent <= 80.0)));
}

#[derive(Clone, Debug, Replicate)]
#[replicate(channel = "movement", position = ground)]
struct Cube {
    #[replicate(range = -256.0..=256.0, step = 1.0 / 512.0)]
    ground: [f32; 2],
    #[replicate(range = 0.0..=32.0, step = 1.0 / 512.0)]
    height: f32,
    #[replicate(rotation = 9)]
    rotation: [f32; 4],
}

impl From<CubeState> for Cube {
    fn from(CubeState { position: [x, y, z], rotation }: CubeState) -> Cube {
        Cube { ground: [x, y], height: z, rotation }
    }
}

/// Bits sent, and the bits of the other schemes.
#[derive(Clone, Copy, Default)]
struct Tally {
    snapshots: usize,
    packets: usize,
    cubes: usize,
    wholes: usize,
    costs: Costs,
    article_bits: u64,
    reference_bits: u64,
    /// By the article's scheme with the article's choice of cubes.
    snapshot_bits: u64,
}

impl Tally {
    fn print(&self) {
        let seconds = self.snapshots as f64 / f64::from(TICKS_PER_SECOND);
        let cubes = self.cubes as f64;
        let ours = self.costs.total() as f64;
        for (name, bits) in [
            ("ours", ours),
            ("Fiedler's article", self.article_bits as f64),
            ("Fiedler's later program, which predicts", self.reference_bits as f64),
        ] {
            let (bytes, kilobits) = (bits / 8.0 / cubes, bits / 1000.0 / seconds);
            println!(
                "  {name:40} {bytes:5.2} B per changed cube, {kilobits:5.1} kbit/s; ours is {:5.1} %",
                100.0 * ours / bits
            );
        }
        println!(
            "  {:40} {:.1} kbit/s, as it sends all that differs from the last snapshot known to have arrived",
            "Fiedler's article on its own",
            self.snapshot_bits as f64 / 1000.0 / seconds
        );
        let Costs { context, slots, sources, updates, wholes } = self.costs;
        let [context, slots, sources, updates, wholes] =
            [context, slots, sources, updates, wholes].map(|bits| bits as f64 / cubes);
        println!(
            "  our bits per cube: header {context:.2}, slot {slots:.2}, baseline {sources:.2}, difference {updates:.2}, \
             without baseline {wholes:.2} ({:.2} % of the cubes); {:.1} cubes and {:.2} packets a snapshot",
            100.0 * self.wholes as f64 / cubes,
            cubes / self.snapshots as f64,
            self.packets as f64 / self.snapshots as f64,
        );
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.snapshots += other.snapshots;
        self.packets += other.packets;
        self.cubes += other.cubes;
        self.wholes += other.wholes;
        self.costs += other.costs;
        self.article_bits += other.article_bits;
        self.reference_bits += other.reference_bits;
        self.snapshot_bits += other.snapshot_bits;
    }
}

fn run(seed: u64, ticks: u32) -> Tally {
    let mut stage = Stage::new(seed);
    // Everything rests until the client has all state: only motion is measured.
    for _ in 0..TICKS_PER_SECOND {
        stage.exchange();
    }
    let mut tally = Tally::default();
    for _ in 0..ticks {
        stage.scene.step();
        let (sent, entries, costs) = stage.exchange();
        tally.snapshots += 1;
        tally.packets += sent.packets.len();
        tally.cubes += entries.len();
        tally.wholes += entries.iter().filter(|entry| entry.base == Tick::ZERO).count();
        tally.costs += costs;
        let changed = stage.changed(&entries);
        tally.article_bits += article_bits(&changed);
        tally.reference_bits += reference_bits(&changed);
        tally.snapshot_bits += article_bits(&stage.changed_since_snapshot());
    }
    for _ in 0..TICKS_PER_SECOND {
        stage.exchange();
    }
    assert_eq!(stage.line.mirror.hash(), stage.world.hash(), "in the end the client has everything");
    tally
}

/// The scene, its world, and the client that watches it.
struct Stage {
    scene: CubesScene,
    world: World,
    ids: Vec<EntityId>,
    line: Line,
    frames: Frames,
    /// Slots that were in lost packets and have not arrived since.
    missing: SlotSet,
}

impl Stage {
    fn new(seed: u64) -> Stage {
        let scene = CubesScene::new(seed);
        let mut world = World::builder().component::<Cube>().build();
        world.advance();
        let ids: Vec<EntityId> =
            scene.states().map(|state| world.spawn(Cube::from(state)).expect("the queue is not full")).collect();
        assert!(ids.iter().enumerate().all(|(index, id)| id.slot as usize == index), "a cube's slot is its index");
        world.settle();
        let settings =
            SendSettings { bytes_max: usize::MAX / 16, seconds_per_tick: SECONDS_PER_TICK, ..SendSettings::default() };
        let mirror = Mirror::builder().component::<Cube>().build(CONDITIONS.order, SECONDS_PER_TICK);
        let line = Line::new(&world, mirror, CONDITIONS, settings, seed);
        Stage { scene, world, ids, line, frames: Frames::new(), missing: SlotSet::new() }
    }

    /// Copies the scene into the world and sends it. The received state must be the sent state.
    fn exchange(&mut self) -> (Sent, Vec<Entry>, Costs) {
        self.world.advance();
        for (&id, state) in self.ids.iter().zip(self.scene.states()) {
            *self.world.get_mut(id).expect("it lives") = Cube::from(state);
        }
        self.world.settle();
        self.frames.note(&self.world, &self.scene);
        let sent = self.line.exchange(&self.world);
        let mut all = Vec::new();
        let mut costs = Costs::default();
        for packet in &sent.packets {
            let (entries, cost) =
                dissect::<Cube>(&packet.bytes, &self.frames, SECONDS_PER_TICK).expect("the bytes can be read");
            costs += cost;
            for entry in &entries {
                if packet.arrived {
                    self.missing.remove(entry.slot);
                } else {
                    self.missing.insert(entry.slot);
                }
            }
            all.extend(entries);
        }
        assert_eq!(all.len(), sent.updates, "every update was found in a packet");
        all.sort_unstable_by_key(|entry| entry.slot);
        let arrived = sent.packets.iter().all(|packet| packet.arrived);
        self.frames.note_sent(self.world.tick(), &all, arrived);
        self.check();
        (sent, all, costs)
    }

    fn check(&self) {
        if self.missing.is_empty() {
            assert_eq!(self.line.mirror.hash(), self.world.hash(), "with nothing missing the client has everything");
        }
        for &id in self.ids.iter().filter(|id| !self.missing.contains(id.slot)) {
            let (there, here) = (self.line.mirror.get::<Cube>(id), self.world.get::<Cube>(id));
            assert!(there.zip(here).is_some_and(|(there, here)| there.same(here)), "{id:?} arrived as it is");
        }
    }

    /// Returns the sent cubes as Fiedler's schemes would encode them.
    fn changed(&self, entries: &[Entry]) -> Vec<ChangedCube> {
        let tick = self.world.tick();
        let cube = |entry: &Entry| {
            let state = |tick: Tick| self.frames.of(tick).quantized[entry.slot as usize];
            // His scheme stores whole snapshots, so an entity that rested for long still has a baseline there.
            let base = if entry.base == Tick::ZERO { Tick(tick.0 - CONDITIONS.lag_ticks as u32) } else { entry.base };
            let before = match self.frames.of(base).bases[entry.slot as usize] {
                Tick::ZERO => base,
                before => before,
            };
            ChangedCube { index: entry.slot as usize, now: state(tick), baseline: state(base), before: state(before) }
        };
        // On his grid of rotations a cube may be unchanged, and then costs nothing.
        entries.iter().map(cube).filter(|cube| cube.now != cube.baseline).collect()
    }

    /// Returns the cubes that Fiedler's scheme would send: it compares whole snapshots.
    fn changed_since_snapshot(&self) -> Vec<ChangedCube> {
        let tick = self.world.tick();
        let newest = tick.0 - CONDITIONS.lag_ticks as u32;
        let known = (0..=newest).rev().map(|tick| self.frames.of(Tick(tick))).find(|context| context.arrived);
        let baselines = &known.expect("something arrived").quantized;
        let cubes = self.frames.of(tick).quantized.iter().zip(baselines).enumerate();
        cubes
            .filter(|(_, (now, baseline))| now != baseline)
            .map(|(index, (&now, &baseline))| ChangedCube { index, now, baseline, before: baseline })
            .collect()
    }
}

/// Recent ticks.
struct Frames(Vec<CubesFrame>);

#[derive(Clone, Default)]
struct CubesFrame {
    tick: Tick,
    cubes: Vec<Cube>,
    quantized: Vec<QuantizedCube>,
    /// Tick of each cube's baseline; zero if it was not sent, or sent in full.
    bases: Vec<Tick>,
    /// True if everything that was sent arrived.
    arrived: bool,
}

impl Frames {
    /// Ticks to store: a baseline and the baseline of that.
    fn new() -> Frames {
        Frames(vec![CubesFrame::default(); 2 * (BASELINE_AGE_MAX as usize + 1)])
    }

    fn note(&mut self, world: &World, scene: &CubesScene) {
        let place = self.place(world.tick());
        self.0[place] = CubesFrame {
            tick: world.tick(),
            cubes: world.each::<Cube>().map(|(_, cube)| cube.clone()).collect(),
            quantized: scene.states().map(QuantizedCube::new).collect(),
            bases: vec![Tick::ZERO; CUBE_COUNT],
            arrived: false,
        };
    }

    fn note_sent(&mut self, tick: Tick, entries: &[Entry], arrived: bool) {
        let place = self.place(tick);
        self.0[place].arrived = arrived;
        for entry in entries {
            self.0[place].bases[entry.slot as usize] = entry.base;
        }
    }

    fn of(&self, tick: Tick) -> &CubesFrame {
        let context = &self.0[self.place(tick)];
        assert_eq!(context.tick, tick, "a baseline is not older than what is kept");
        context
    }

    fn place(&self, tick: Tick) -> usize {
        tick.0 as usize % self.0.len()
    }
}

impl Past<Cube> for Frames {
    fn at(&self, tick: Tick, slot: u32) -> &Cube {
        &self.of(tick).cubes[slot as usize]
    }
}
