//! Two endpoints over a bad network, by seed.
//!
//! `cargo xtask sim --rudp --seed N --count K` runs other seeds.

use std::time::Duration;

use aether_rudp::{Channel, ConnectionState, Settings};

use crate::support::world::Messages;
use crate::support::{Faults, Link, Random, World};

/// Seeds of the test command.
const SEEDS: std::ops::Range<u64> = 1..501;

/// Interval of the messages of both sides.
const TICK: Duration = Duration::from_millis(20);

/// Time after the faults have ended within which everything must have arrived.
const CONVERGENCE: Duration = Duration::from_secs(3);

#[test]
fn reliable_messages_arrive_once_and_in_order_on_bad_networks() {
    let failed: Vec<u64> =
        seeds().filter(|seed| std::panic::catch_unwind(|| Simulation::new(*seed).run()).is_err()).collect();
    assert!(failed.is_empty(), "failed seeds: {failed:?}");
}

/// Seeds by environment variables, or those of the test command.
fn seeds() -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    match number("AETHER_SIM_SEED") {
        Some(seed) => seed..seed + number("AETHER_SIM_COUNT").unwrap_or(1),
        None => SEEDS,
    }
}

struct Simulation {
    seed: u64,
    random: Random,
    world: World,
    sent_up: Messages,
    sent_down: Messages,
}

impl Simulation {
    fn new(seed: u64) -> Simulation {
        let mut random = Random::new(seed);
        let mut link = |seed| {
            let delay = Duration::from_millis(1) + random.time(Duration::from_millis(80));
            Link::new(seed, delay, faults(&mut random))
        };
        let (up, down) = (link(seed * 2), link(seed * 2 + 1));
        let world = World::new(up, down, Settings::default());
        Simulation { seed, random, world, sent_up: Messages::new(), sent_down: Messages::new() }
    }

    fn run(mut self) {
        let ticks = 100 + self.random.below(200);
        for tick in 0..ticks {
            if self.world.server.is_some() {
                self.send(tick);
            }
            // Before that, another address cannot use the token any more.
            if self.random.chance(5) && self.world.client.connection().is_some() {
                self.world.rebind();
            }
            self.world.run_until(self.world.now + TICK);
        }
        self.world.up.heal();
        self.world.down.heal();
        self.world.run_until(self.world.now + CONVERGENCE);
        let seed = self.seed;
        let server = self.world.server.as_ref().unwrap_or_else(|| panic!("seed {seed}: not connected"));
        let client = self.world.client.connection();
        let client = client.unwrap_or_else(|| panic!("seed {seed}: the client is not connected"));
        assert_eq!((server.state(), client.state()), (ConnectionState::Open, ConnectionState::Open), "seed {seed}");
        check(seed, "up", &self.sent_up, &self.world.to_server);
        check(seed, "down", &self.sent_down, &self.world.to_client);
        for connection in [server, client] {
            assert_eq!((connection.unacknowledged_bytes(), connection.backlog_bytes()), (0, 0), "seed {seed}");
        }
        assert_eq!(server.peer(), self.world.client_address, "seed {seed}");
    }

    fn send(&mut self, tick: u64) {
        for is_up in [true, false] {
            for channel in
                [Channel::ReliableOrdered, Channel::ReliableUnordered, Channel::Sequenced, Channel::Unreliable]
            {
                let is_reliable = matches!(channel, Channel::ReliableOrdered | Channel::ReliableUnordered);
                if is_reliable && self.random.chance(700) {
                    continue;
                }
                let length = match self.random.below(100) {
                    0 if is_reliable => 8 + self.random.below(20_000),
                    1..10 => 8 + self.random.below(1_000),
                    _ => 8 + self.random.below(40),
                };
                let mut message = vec![tick as u8; length as usize];
                let sent = if is_up { &mut self.sent_up } else { &mut self.sent_down };
                message[..8].copy_from_slice(&(sent.len() as u64).to_be_bytes());
                let outcome = match &mut self.world.server {
                    Some(server) if !is_up => server.send(channel, &message),
                    _ => self.world.client.send(channel, &message),
                };
                assert_eq!(outcome, Ok(()), "seed {}", self.seed);
                sent.push((channel, message));
            }
        }
    }
}

fn faults(random: &mut Random) -> Faults {
    Faults {
        loss: random.below(301),
        duplicates: random.below(51),
        reordering: random.below(101),
        jitter: random.below(2) as u32 * random.time(Duration::from_millis(200)),
        bursts: random.below(11),
        burst_max: Duration::from_millis(300),
        stalls: random.below(6),
        stall_max: Duration::from_millis(500),
    }
}

/// Compares the messages of one direction with those that were sent.
fn check(seed: u64, direction: &str, sent: &Messages, arrived: &Messages) {
    let of = |messages: &Messages, channel| -> Vec<Vec<u8>> {
        messages.iter().filter(|(of, _)| *of == channel).map(|(_, message)| message.clone()).collect()
    };
    let name = format!("seed {seed}, {direction}");
    let (ordered, count) = (of(arrived, Channel::ReliableOrdered), of(sent, Channel::ReliableOrdered).len());
    assert!(of(sent, Channel::ReliableOrdered).starts_with(&ordered), "{name}: out of order");
    assert_eq!(ordered.len(), count, "{name}: ordered messages are missing");

    let mut unordered = of(arrived, Channel::ReliableUnordered);
    unordered.sort();
    assert!(of(sent, Channel::ReliableUnordered) == unordered, "{name}: unordered, {} arrived", unordered.len());

    let sequenced = of(arrived, Channel::Sequenced);
    assert!(sequenced.is_sorted_by(|earlier, later| earlier < later), "{name}: sequenced");
    let mut unreliable = of(arrived, Channel::Unreliable);
    let count = unreliable.len();
    unreliable.sort();
    unreliable.dedup();
    assert_eq!(unreliable.len(), count, "{name}: unreliable");
    for message in sequenced.iter().chain(&unreliable) {
        assert!(sent.iter().any(|(_, sent)| sent == message), "{name}: a message that was never sent");
    }
}
