//! A short run of the world that is the same on every platform: a hundred turning things, and one hash per tick.

use crate::{Look, Ship, Thing};
use aether::prelude::*;
use aether::world::World;
use std::fmt::Write;

/// Ticks of the run.
pub const TURNING_TICKS: u32 = 600;

const THINGS: u32 = 100;
const TICK_SECONDS: f32 = 1.0 / 40.0;

/// Spawns the things before the first tick, turns them for some ticks and returns the state hash.
#[must_use]
pub fn turning_hash(ticks: u32) -> u64 {
    let mut world = start();
    (0..ticks).for_each(|_| turn(&mut world));
    world.hash()
}

/// Returns the golden file: a comment, and the hash after each tick.
#[must_use]
pub fn turning_hashes() -> String {
    let mut text = "\
# The state hash of a hundred turning things after each of 600 ticks, natively and in the browser's machine.
# A change of these lines is a change of the rules or of how state is packed and hashed. If it is meant, run
# `cargo run -p aether-sandbox-server -- golden games/sandbox/rules/tests/golden/turning-600.txt`.
"
    .to_owned();
    let mut world = start();
    for _ in 0..TURNING_TICKS {
        turn(&mut world);
        writeln!(text, "{:016x}", world.hash()).expect("writing to a text cannot fail");
    }
    text
}

fn start() -> World {
    let mut world = World::builder().component::<Ship>().component::<Thing>().build();
    let mut random = Random::new(20_260_101);
    for _ in 0..THINGS {
        let position = [random.between(-EDGE, EDGE), random.between(-EDGE, EDGE)];
        let spin = random.between(-2.0, 2.0);
        world.spawn(Thing { position, rotation: 0.0, look: Look::Rock, spin }).expect("the world has room");
    }
    world
}

fn turn(world: &mut World) {
    world.advance();
    world.each_mut(|_, thing: &mut Thing| thing.turn(TICK_SECONDS));
    world.settle();
}

const EDGE: f32 = crate::EDGE;
