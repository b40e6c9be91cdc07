//! Measures the bytes of an update of a moving 2-D entity per client, over whole packets.

mod lossy;
#[expect(dead_code, reason = "this bench needs a part of what the benches share")]
mod support;

use aether_replication::{DeliveryOrder, Mirror, SendSettings};
use aether_wire::EntityId;
use aether_world::World;
use lossy::{Conditions, Line};
use std::f32::consts::TAU;
use support::{Body, Random, SECONDS_PER_TICK, report};

const TICKS_PER_SECOND: f32 = 1.0 / SECONDS_PER_TICK;
const LINKS: [(&str, Conditions); 4] = [
    ("ordered", conditions(DeliveryOrder::Ordered, 0)),
    ("unordered, 1 tick old", conditions(DeliveryOrder::Unordered, 1)),
    ("unordered, 2 ticks old", conditions(DeliveryOrder::Unordered, 2)),
    ("unordered, 4 ticks old", conditions(DeliveryOrder::Unordered, 4)),
];
/// Cases whose mean is the reported number: agents that move as agents do, in large and small numbers.
const PLAUSIBLE: [Crowd; 6] = [
    Crowd { what: "500 agents, all under way", motion: Motion::Cruise, activity: Activity::All, agents: 500 },
    Crowd { what: "500 agents, a tenth under way", motion: Motion::Cruise, activity: Activity::Tenth, agents: 500 },
    Crowd { what: "500 agents, each every 10th tick", motion: Motion::Cruise, activity: Activity::Turns, agents: 500 },
    Crowd { what: "50 agents, all under way", motion: Motion::Cruise, activity: Activity::All, agents: 50 },
    Crowd { what: "50 agents, a tenth under way", motion: Motion::Cruise, activity: Activity::Tenth, agents: 50 },
    Crowd { what: "500 walkers, abrupt turns", motion: Motion::Walk, activity: Activity::All, agents: 500 },
];
const WORST: Crowd =
    Crowd { what: "500 with any velocity each tick", motion: Motion::Leap, activity: Activity::All, agents: 500 };
/// Ticks before the measurement: at first the client has no state and entities start from rest.
const START_SECONDS: f32 = 5.0;

fn main() {
    let ticks = if std::env::args().any(|argument| argument == "--short") { 200 } else { 2_000 };
    println!(
        "Moving 2-D entities at 20 Hz: position at 1 cm over ±1000 m, velocity at 1 cm/s over ±50 m/s, 8-bit heading."
    );
    println!(
        "Bytes per update and client over whole packets; a client applies them and holds the server's state each tick."
    );
    println!("The links are ordered, or unordered with acknowledged baselines so many ticks old.");
    println!("Agents cruise at 3 to 15 m/s, turn and accelerate by 3 to 10 m/s²; walkers keep their 3 m/s.");
    let figure = PLAUSIBLE.iter().map(|crowd| crowd.print(ticks)).sum::<f64>() / PLAUSIBLE.len() as f64;
    println!("The figure is the mean over the lines so far. The worst there could be:");
    WORST.print(ticks);
    report("bytes", figure, "B", Some(("6 B or less", figure <= 6.0)));
}

const fn conditions(order: DeliveryOrder, lag_ticks: usize) -> Conditions {
    Conditions { order, lag_ticks, loss_percent: 0 }
}

/// Some entities and how they move.
struct Crowd {
    what: &'static str,
    motion: Motion,
    activity: Activity,
    agents: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Motion {
    /// Continues, turns or changes its speed for a while, within the limits of its acceleration.
    Cruise,
    /// Constant speed with sudden turns.
    Walk,
    /// A new velocity every tick.
    Leap,
}

#[derive(Clone, Copy, PartialEq)]
enum Activity {
    All,
    /// Rests about nine times as long as it moves.
    Tenth,
    /// Always moves, with one long step every tenth tick.
    Turns,
}

impl Crowd {
    /// Prints a line per delivery order. Returns the mean.
    fn print(&self, ticks: usize) -> f64 {
        let mut sum = 0.0;
        for (name, conditions) in LINKS {
            let Measured { bytes, updates, snapshots } = self.run(conditions, ticks);
            let bytes_per_update = bytes as f64 / updates as f64;
            let updates_per_snapshot = updates as f64 / snapshots as f64;
            println!("  {:34}{name:24} {bytes_per_update:5.2} B, {updates_per_snapshot:5.1} updates a tick", self.what);
            sum += bytes_per_update;
        }
        sum / LINKS.len() as f64
    }

    fn run(&self, conditions: Conditions, ticks: usize) -> Measured {
        let mut random = Random(1);
        let mut world = World::builder().component::<Body>().build();
        world.advance();
        let mut agents: Vec<Agent> = (0..self.agents).map(|_| Agent::new(self, &mut world, &mut random)).collect();
        world.settle();
        let settings =
            SendSettings { bytes_max: usize::MAX / 16, seconds_per_tick: SECONDS_PER_TICK, ..SendSettings::default() };
        let mirror = Mirror::builder().component::<Body>().build(conditions.order, SECONDS_PER_TICK);
        let mut line = Line::new(&world, mirror, conditions, settings, 1);
        let mut measured = Measured::default();
        let start_ticks = (START_SECONDS * TICKS_PER_SECOND) as usize;
        for tick in 0..start_ticks + ticks {
            let sent = line.exchange(&world);
            assert_eq!(line.mirror.hash(), world.hash(), "the client has what the server has");
            if tick >= start_ticks {
                measured.bytes += sent.packets.iter().map(|packet| packet.bytes.len()).sum::<usize>();
                measured.updates += sent.updates;
                measured.snapshots += 1;
            }
            world.advance();
            let every = if self.activity == Activity::Turns { 10 } else { 1 };
            for agent in agents.iter_mut().skip(tick % every).step_by(every) {
                agent.step(self, every as u32, &mut world, &mut random);
            }
            world.settle();
        }
        measured
    }
}

#[derive(Default)]
struct Measured {
    bytes: usize,
    updates: usize,
    snapshots: usize,
}

/// Agent that moves an entity.
struct Agent {
    id: EntityId,
    acceleration_max: f32,
    /// Target speed.
    speed: f32,
    /// Turn rate, in radians per second.
    turn: f32,
    /// Ticks until the next decision.
    ticks: u32,
    resting: bool,
}

impl Agent {
    fn new(crowd: &Crowd, world: &mut World, random: &mut Random) -> Agent {
        let position = [random.within(-900.0, 900.0), random.within(-900.0, 900.0)];
        let body = Body { position, velocity: [0.0; 2], heading: random.within(0.0, TAU) };
        let id = world.spawn(body).expect("the queue is not full");
        let acceleration_max = random.within(3.0, 10.0);
        let resting = crowd.activity == Activity::Tenth && !random.next().is_multiple_of(10);
        // Staggered, so that not all start at once.
        let ticks = if resting { random.within(0.0, 50.0 * TICKS_PER_SECOND) as u32 } else { 0 };
        Agent { id, acceleration_max, speed: 0.0, turn: 0.0, ticks, resting }
    }

    /// Advances by several ticks in one step.
    fn step(&mut self, crowd: &Crowd, ticks: u32, world: &mut World, random: &mut Random) {
        let seconds = ticks as f32 * SECONDS_PER_TICK;
        if self.ticks == 0 {
            self.decide(crowd, random);
        }
        self.ticks = self.ticks.saturating_sub(ticks);
        let body: &mut Body = world.get_mut(self.id).expect("it lives");
        if self.resting && body.velocity == [0.0; 2] {
            return;
        }
        match crowd.motion {
            Motion::Cruise => self.accelerate(body, seconds),
            Motion::Walk => {
                body.heading += std::mem::take(&mut self.turn);
                body.velocity = along(body.heading, 3.0);
            }
            Motion::Leap => {
                body.heading = random.within(0.0, TAU);
                body.velocity = [random.within(-50.0, 50.0), random.within(-50.0, 50.0)];
            }
        }
        for axis in 0..2 {
            body.position[axis] += body.velocity[axis] * seconds;
        }
        if body.position.iter().any(|place| place.abs() > 990.0) {
            body.position = body.position.map(|place| place.clamp(-990.0, 990.0));
            body.heading += TAU / 2.0;
        }
    }

    /// Chooses the next behaviour and its duration.
    fn decide(&mut self, crowd: &Crowd, random: &mut Random) {
        if crowd.activity == Activity::Tenth {
            self.resting = !self.resting;
        }
        if self.resting {
            (self.speed, self.turn) = (0.0, 0.0);
            self.ticks = random.within(30.0 * TICKS_PER_SECOND, 70.0 * TICKS_PER_SECOND) as u32;
            return;
        }
        self.speed = random.within(3.0, 15.0);
        self.turn = match crowd.motion {
            Motion::Walk => random.within(-2.0, 2.0),
            _ if random.next().is_multiple_of(2) => 0.0,
            _ => random.within(-2.0, 2.0),
        };
        let seconds = if crowd.activity == Activity::Tenth { (2.0, 6.0) } else { (0.5, 3.0) };
        self.ticks = random.within(seconds.0 * TICKS_PER_SECOND, seconds.1 * TICKS_PER_SECOND) as u32;
    }

    /// Turns, and changes the velocity towards the heading.
    fn accelerate(&self, body: &mut Body, seconds: f32) {
        body.heading += self.turn * seconds;
        let wanted = along(body.heading, self.speed);
        let change = [wanted[0] - body.velocity[0], wanted[1] - body.velocity[1]];
        let length = change[0].hypot(change[1]).max(1e-6);
        let share = (self.acceleration_max * seconds / length).min(1.0);
        for (velocity, change) in body.velocity.iter_mut().zip(change) {
            *velocity += change * share;
        }
    }
}

fn along(heading: f32, speed: f32) -> [f32; 2] {
    [speed * heading.cos(), speed * heading.sin()]
}
