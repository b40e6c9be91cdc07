//! 5,000 entities, 100 clients that see all of them, 10 % change per tick, on one thread.

mod support;

use support::{Change, drive, report, send_all};

fn main() {
    let has = |name| std::env::args().any(|argument| argument == name);
    let rounds = if has("--short") || has("--instructions") { 60 } else { 400 };
    println!("5,000 entities, 100 clients that see all, 500 change per tick, one thread.");
    println!(
        "Half of the clients acknowledge before the next tick, half one to three ticks later, all on unordered links."
    );
    let spread = run(rounds, Change::Spread);
    println!("another tenth every tick: median {spread:.3} ms");
    let same = run(rounds, Change::Same);
    println!("the same tenth every tick, so that late clients have other baselines: median {same:.3} ms");
    let figure = spread.max(same);
    println!("measured: {} ticks", 2 * rounds);
    report("replicate-dense", figure, "ms", None);
}

fn run(rounds: usize, change: Change) -> f64 {
    send_all(rounds, (5_000, 100), |round, ids, world, random| {
        let offset = if change == Change::Same { 0 } else { round % 10 };
        for &id in ids.iter().skip(offset).step_by(10) {
            drive(world.get_mut(id).expect("it lives"), random);
        }
    })
}
