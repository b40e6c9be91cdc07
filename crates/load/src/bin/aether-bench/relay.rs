//! Rooms of ten who talk: what a delivery costs, and how many clients one core serves.

use crate::child::{self, Server};
use crate::figure::{Times, judge};
use crate::swarm::{Beat, Newcomer, Swarm, encoded};
use crate::{Length, Outcome};
use aether_wire::{ClientMessage, CommandSeq, GameBody, GameMessage};
use std::time::{Duration, Instant};

const PER_ROOM: usize = 10;
const HERTZ: u32 = 20;
/// Bytes of a message: a mark, when it was sent, and what else a game might say.
const MESSAGE_BYTES: usize = 32;
/// By it a message is found within whatever the server put around it.
const MARK: [u8; 4] = *b"\xA7mrk";
const STEPS: [usize; 6] = [500, 1_000, 1_500, 2_000, 2_500, 3_000];
/// For how long the room collects messages. A message waits half of that on average.
const FLUSH_MS: u32 = 30;
const BARE_FLUSH_MS: u32 = 15;
const LATENCY_MS_MAX: f64 = 50.0;
/// A step that fails is tried again: whatever else the machine does shows as latency.
const ATTEMPTS: usize = 3;
/// What was sent last has so long to arrive.
const DRAIN: Duration = Duration::from_secs(2);

/// Messages that are sent before what came is looked at, so that a load that is late still reads.
const SENDS_PER_TURN: usize = 64;

/// What one number of clients came to.
struct Measured {
    clients: usize,
    /// Processor time of the server, per delivery.
    cpu_us: f64,
    /// Shares of a core.
    server_share: f64,
    load_share: f64,
    latency: Times,
    lost: u64,
}

impl Measured {
    fn is_good(&self) -> bool {
        self.lost == 0 && self.latency.percentile_ms(99.0) < LATENCY_MS_MAX
    }
}

/// The flags of the relay benchmark.
#[derive(clap::Args)]
pub struct RelayArguments {
    #[command(flatten)]
    length: Length,
    /// For how long a room collects messages
    #[arg(long, default_value_t = FLUSH_MS)]
    flush_ms: u32,
    /// Measures this number of clients alone
    #[arg(long)]
    clients: Option<usize>,
    /// Leaves out the bare loops
    #[arg(long)]
    alone: bool,
}

pub fn run(RelayArguments { length, flush_ms, clients, alone }: RelayArguments) -> Outcome {
    println!("Rooms of {PER_ROOM}; each client sends {MESSAGE_BYTES} bytes {HERTZ} times a second, the others get it.");
    println!("WebSocket, no TLS; server on one core, load on another.");
    let steps = match clients {
        Some(clients) => vec![clients],
        None => length.pick(STEPS.to_vec(), vec![100]),
    };
    if !alone {
        climb("bare loop, a write for each delivery", Server::bare(&["bare-relay".to_owned()])?, &steps, length)?;
        let arguments = ["bare-relay".to_owned(), format!("--flush-ms={BARE_FLUSH_MS}")];
        climb(&format!("bare loop, writes every {BARE_FLUSH_MS} ms"), Server::bare(&arguments)?, &steps, length)?;
    }
    let settings = [
        format!("room.relay.flush_ms={flush_ms}"),
        format!("room.relay.players_max={PER_ROOM}"),
        "webtransport.enabled=false".to_owned(),
    ];
    let aether =
        climb(&format!("aether, rooms collect for {flush_ms} ms"), Server::aether(&settings)?, &steps, length)?;
    let best = aether.iter().rfind(|measured| measured.is_good());
    let (clients, cpu_us, latency) = best.map_or((0, f64::INFINITY, f64::INFINITY), |best| {
        (best.clients, best.cpu_us, best.latency.percentile_ms(99.0))
    });
    judge("relay-clients", clients as f64, "clients", "2,500", clients >= 2_500);
    judge("relay-latency", latency, "ms p99", "under 50 ms", latency < LATENCY_MS_MAX);
    judge("relay", cpu_us, "µs per delivery", "2.2 µs or less", cpu_us <= 2.2);
    Ok(())
}

/// More and more clients, until some wait too long or miss something.
fn climb(name: &str, server: Server, steps: &[usize], length: Length) -> Outcome<Vec<Measured>> {
    println!("\n{name}");
    println!("clients   µs/delivery   server   load   p50 ms   p99 ms   lost");
    let mut swarm = Swarm::new()?;
    let mut climbed = Vec::new();
    for &clients in steps {
        grow(&mut swarm, &server, clients)?;
        let mut measured = measure(&mut swarm, &server, length)?;
        for _ in 1..ATTEMPTS {
            if measured.is_good() {
                break;
            }
            measured = measure(&mut swarm, &server, length)?;
        }
        println!(
            "{:>7} {:>13.2} {:>7.0}% {:>5.0}% {:>8.1} {:>8.1} {:>6}",
            measured.clients,
            measured.cpu_us,
            measured.server_share * 100.0,
            measured.load_share * 100.0,
            measured.latency.percentile_ms(50.0),
            measured.latency.percentile_ms(99.0),
            measured.lost,
        );
        let good = measured.is_good();
        climbed.push(measured);
        if !good {
            break;
        }
    }
    Ok(climbed)
}

fn grow(swarm: &mut Swarm, server: &Server, clients: usize) -> Outcome {
    let first = swarm.len();
    let newcomers = match server.admin {
        None => (first..clients).map(|_| Newcomer { hello: None }).collect(),
        Some(_) => {
            let tokens = server.tokens(clients - first)?;
            let newcomer = |(token, number): (&String, usize)| {
                Newcomer::new(token, "relay", Some(format!("room-{}", number / PER_ROOM)))
            };
            tokens.iter().zip(first..).map(newcomer).collect()
        }
    };
    swarm.join(server.http, newcomers)
}

fn measure(swarm: &mut Swarm, server: &Server, length: Length) -> Outcome<Measured> {
    let clients = swarm.len();
    let epoch = Instant::now();
    let from = Duration::from_millis(length.pick(1_500, 300));
    let to = from + length.measured();
    let mut beat = Beat::new(HERTZ, clients);
    let mut tally = Tally { epoch, from, to, latency: Times::new(), deliveries: 0, arrived: 0 };
    let (mut sent, mut began) = (0, None);
    let lost_before = swarm.lost;
    while epoch.elapsed() < to {
        if began.is_none() && epoch.elapsed() >= from {
            began = Some((Instant::now(), server.cpu_seconds()?, child::own_cpu_seconds()?));
        }
        for _ in 0..SENDS_PER_TURN {
            let Some((number, at)) = beat.due(Instant::now()) else { break };
            let stamp = at - epoch;
            sent += u64::from((from..to).contains(&stamp));
            swarm.send(speaker(number, clients), &message(stamp)?);
        }
        swarm.poll(beat.next(), &mut |_, message| tally.take(message))?;
    }
    let (began, server_cpu, load_cpu) = began.ok_or("nothing was measured")?;
    let (took, server_cpu) = (began.elapsed(), server.cpu_seconds()? - server_cpu);
    let load_cpu = child::own_cpu_seconds()? - load_cpu;
    let end = Instant::now() + DRAIN;
    let expected = sent * (PER_ROOM as u64 - 1);
    while Instant::now() < end && tally.arrived < expected {
        swarm.poll(end, &mut |_, message| tally.take(message))?;
    }
    Ok(Measured {
        clients,
        cpu_us: server_cpu * 1e6 / tally.deliveries as f64,
        server_share: server_cpu / took.as_secs_f64(),
        load_share: load_cpu / took.as_secs_f64(),
        latency: tally.latency,
        lost: expected.saturating_sub(tally.arrived) + (swarm.lost - lost_before) as u64,
    })
}

/// Whose turn it is. The members of a room take theirs one after the other, all over the interval: would they all speak at
/// once, there would be more to collect than in life.
fn speaker(turn: u64, clients: usize) -> usize {
    let turn = (turn % clients as u64) as usize;
    let rooms = clients / PER_ROOM;
    turn % rooms * PER_ROOM + turn / rooms
}

/// What arrives.
struct Tally {
    epoch: Instant,
    from: Duration,
    to: Duration,
    latency: Times,
    /// While the processor time was measured.
    deliveries: u64,
    /// Of those that were sent while it was.
    arrived: u64,
}

impl Tally {
    fn take(&mut self, message: &[u8]) {
        let Some(stamp) = stamp(message) else { return };
        let now = self.epoch.elapsed();
        self.deliveries += u64::from((self.from..self.to).contains(&now));
        if (self.from..self.to).contains(&stamp) {
            self.arrived += 1;
            self.latency.record(now.saturating_sub(stamp));
        }
    }
}

fn message(stamp: Duration) -> Outcome<Vec<u8>> {
    let mut payload = MARK.to_vec();
    payload.extend_from_slice(&(stamp.as_nanos() as u64).to_le_bytes());
    payload.resize(MESSAGE_BYTES, 0);
    encoded(&ClientMessage::Game(GameMessage { seq: CommandSeq(0), body: GameBody::Packed { code: 1, payload } }))
}

fn stamp(message: &[u8]) -> Option<Duration> {
    let at = message.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
    let nanoseconds = message.get(at..at + 8)?.try_into().ok()?;
    Some(Duration::from_nanos(u64::from_le_bytes(nanoseconds)))
}
