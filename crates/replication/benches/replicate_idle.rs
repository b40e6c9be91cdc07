//! 10,000 entities, 20 clients that see all of them, one changes per tick, on one thread.

mod support;

use support::{Change, drive, report, send_all};

fn main() {
    let rounds = if std::env::args().any(|argument| argument == "--short") { 200 } else { 4_000 };
    println!("10,000 entities, 20 clients that see all, one changes per tick, one thread.");
    println!(
        "Half of the clients acknowledge before the next tick, half one to three ticks later, all on unordered links."
    );
    let spread = run(rounds, Change::Spread);
    println!("another one every tick: median {spread:.4} ms");
    let same = run(rounds, Change::Same);
    println!("the same one every tick, so that late clients have other baselines: median {same:.4} ms");
    let figure = spread.max(same);
    report("replicate-idle", figure, "ms", Some(("under 0.05 ms", figure < 0.05)));
}

fn run(rounds: usize, change: Change) -> f64 {
    send_all(rounds, (10_000, 20), |_, ids, world, random| {
        let chosen = if change == Change::Same { 0 } else { random.next() as usize % ids.len() };
        drive(world.get_mut(ids[chosen]).expect("it lives"), random);
    })
}
