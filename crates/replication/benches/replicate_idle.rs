//! 10,000 entities, 20 clients that see all of them, one changes per tick, on one thread.

mod support;

use support::{Client, Random, Sender, drive, median, report, show_all, spawn};

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
    report("replicate-idle", figure, "ms", "under 0.05 ms", figure < 0.05);
}

#[derive(Clone, Copy, PartialEq)]
enum Change {
    Spread,
    Same,
}

fn run(rounds: usize, change: Change) -> f64 {
    let mut random = Random(1);
    let mut world = aether_world::World::builder().component::<support::Body>().build();
    let mut clients: Vec<Client> =
        (0..20).map(|n| Client::new(Some(if n % 2 == 0 { 1 } else { 2 + n / 2 % 3 }))).collect();
    let mut sender = Sender::new();
    world.advance();
    let ids = spawn(&mut world, 10_000, &mut random);
    world.settle();
    show_all(&world, &mut clients);
    let mut times = Vec::new();
    for round in 0..rounds + 20 {
        let time = sender.send(&world, &mut clients);
        if round >= 20 {
            times.push(time);
        }
        world.advance();
        let chosen = if change == Change::Same { 0 } else { random.next() as usize % ids.len() };
        drive(world.get_mut(ids[chosen]).expect("it lives"), &mut random);
        world.settle();
    }
    let (bytes, packets) = clients.iter().fold((0, 0), |(b, p), c| (b + c.outbox.bytes, p + c.outbox.packets));
    println!("  {} packets of {} bytes on average, those of the first state included", packets, bytes / packets);
    median(&mut times)
}
