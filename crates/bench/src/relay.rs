//! Relay rooms of ten clients: CPU time per delivery, and the number of clients that one core serves. `relay` uses the
//! protocol of rooms, `relay-ws` also that of the services socket, `relay-udp` the protocol of rooms over reliable UDP.

use crate::child::{self, Server};
use crate::result::{Times, print_result};
use crate::swarm::{JoiningClient, SendSchedule, Swarm, encoded};
use crate::udp_swarm::UdpSwarm;
use crate::{Length, Outcome};
use aether_messages::prost::Message as _;
use aether_messages::realtime::envelope::Message;
use aether_messages::realtime::{Envelope, MatchDataSend};
use aether_wire::{ClientMessage, CommandSeq, GameBody, GameMessage};
use std::time::{Duration, Instant};

const PER_ROOM: usize = 10;
const HERTZ: u32 = 20;
/// Size of a message: a marker, the send time and padding.
const MESSAGE_BYTES: usize = 32;
/// Marker by which a message is found within the server's framing.
const MARKER: [u8; 4] = *b"\xA7mrk";
const STEPS: [usize; 6] = [500, 1_000, 1_500, 2_000, 2_500, 3_000];
/// Steps of a comparison, which are smaller because a ratio is computed from them.
const COMPARED_STEPS: [usize; 13] =
    [500, 1_000, 1_500, 1_750, 2_000, 2_250, 2_500, 2_750, 3_000, 3_250, 3_500, 3_750, 4_000];
/// Fewest clients over the services socket, in percent of those over the protocol of rooms.
const SOCKET_PERCENT_MIN: f64 = 70.0;
/// Time for which a room collects messages. A message waits half of it on average.
const FLUSH_MS: u32 = 30;
const BARE_FLUSH_MS: u32 = 15;
const LATENCY_MS_MAX: f64 = 50.0;
/// Number of attempts per step, because other load on the machine shows as latency.
const ATTEMPTS: usize = 3;
/// Longest wait for the last messages.
const DRAIN: Duration = Duration::from_secs(2);

/// Messages sent before received ones are read, so that a late load still reads.
const SENDS_PER_TURN: usize = 64;

/// Protocol of the clients.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    /// Rooms of the minimal servers.
    Bare,
    /// Rooms, `/rt`.
    Rooms,
    /// Rooms, over reliable UDP.
    Udp,
    /// Relayed matches on the services socket, `/ws`, in protobuf.
    Matches,
}

/// Clients of a transport.
enum Clients {
    WebSocket(Swarm),
    Udp(UdpSwarm),
}

/// Result for one number of clients.
struct Measured {
    clients: usize,
    /// CPU time of the server per delivery.
    cpu_us: f64,
    /// Fractions of a core.
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

/// Arguments of the relay benchmark.
#[derive(clap::Args)]
pub struct RelayArguments {
    #[command(flatten)]
    length: Length,
    /// Time in milliseconds for which a room collects messages
    #[arg(long, default_value_t = FLUSH_MS)]
    flush_ms: u32,
    /// Measures only this number of clients
    #[arg(long)]
    clients: Option<usize>,
    /// Skips the minimal servers
    #[arg(long)]
    alone: bool,
}

pub fn run(RelayArguments { length, flush_ms, clients, alone }: RelayArguments) -> Outcome {
    println!("Rooms of {PER_ROOM}; each client sends {MESSAGE_BYTES} bytes {HERTZ} times per second to the others.");
    println!("WebSocket, no TLS; server on one core, load on another.");
    let steps = match clients {
        Some(clients) => vec![clients],
        None => length.pick(STEPS.to_vec(), vec![100]),
    };
    if !alone {
        let name = "minimal server, one write per delivery";
        let server = Server::bare(&["bare-relay".to_owned()])?;
        measure_steps(name, (server, Protocol::Bare), &steps, length)?;
        let name = format!("minimal server, writes every {BARE_FLUSH_MS} ms");
        let server = Server::bare(&["bare-relay".to_owned(), format!("--flush-ms={BARE_FLUSH_MS}")])?;
        measure_steps(&name, (server, Protocol::Bare), &steps, length)?;
    }
    let aether = measure_aether(Protocol::Rooms, flush_ms, &steps, length)?;
    let Best { clients, cpu_us, latency_ms } = Best::of(&aether);
    print_result("relay-clients", clients as f64, "clients", "2,500", clients >= 2_500);
    print_result("relay-latency", latency_ms, "ms p99", "under 50 ms", latency_ms < LATENCY_MS_MAX);
    print_result("relay", cpu_us, "µs per delivery", "2.2 µs or less", cpu_us <= 2.2);
    Ok(())
}

/// Arguments of the comparison of protocols.
#[derive(clap::Args)]
pub struct RelayWsArguments {
    #[command(flatten)]
    length: Length,
    /// Time in milliseconds for which a room collects messages
    #[arg(long, default_value_t = FLUSH_MS)]
    flush_ms: u32,
    /// Measures only this number of clients
    #[arg(long)]
    clients: Option<usize>,
}

/// Compares relayed matches on the services socket with rooms.
pub fn run_ws(RelayWsArguments { length, flush_ms, clients }: RelayWsArguments) -> Outcome {
    println!("Relayed matches of {PER_ROOM} over /ws, and relay rooms of {PER_ROOM} over /rt, both in protobuf;");
    println!("each client sends {MESSAGE_BYTES} bytes {HERTZ} times per second to the others.");
    println!("WebSocket, no TLS; server on one core, load on another.");
    let steps = match clients {
        Some(clients) => vec![clients],
        None => length.pick(COMPARED_STEPS.to_vec(), vec![100]),
    };
    let rooms = Best::of(&measure_aether(Protocol::Rooms, flush_ms, &steps, length)?);
    let matches = Best::of(&measure_aether(Protocol::Matches, flush_ms, &steps, length)?);
    println!("\n{} clients over /rt, {:.2} µs per delivery", rooms.clients, rooms.cpu_us);
    println!("{} clients over /ws, {:.2} µs per delivery", matches.clients, matches.cpu_us);
    let percent = 100.0 * matches.clients as f64 / rooms.clients.max(1) as f64;
    let aim = format!("{SOCKET_PERCENT_MIN} % or more");
    print_result("relay-ws-latency", matches.latency_ms, "ms p99", "under 50 ms", matches.latency_ms < LATENCY_MS_MAX);
    print_result("relay-ws", percent, "% of the clients over /rt", &aim, percent >= SOCKET_PERCENT_MIN);
    Ok(())
}

/// Clients at which both transports are compared.
const UDP_STEPS: [usize; 3] = [500, 1_000, 1_500];
/// Most CPU time per delivery over UDP, in percent of that over WebSocket.
const UDP_PERCENT_MAX: f64 = 50.0;

/// Arguments of the comparison of transports.
#[derive(clap::Args)]
pub struct RelayUdpArguments {
    #[command(flatten)]
    length: Length,
    /// Time in milliseconds for which a room collects messages
    #[arg(long, default_value_t = FLUSH_MS)]
    flush_ms: u32,
    /// Measures only this number of clients
    #[arg(long)]
    clients: Option<usize>,
}

/// Compares relay rooms over reliable UDP with the same rooms over WebSocket, at equal clients.
pub fn run_udp(RelayUdpArguments { length, flush_ms, clients }: RelayUdpArguments) -> Outcome {
    println!("Relay rooms of {PER_ROOM} over reliable UDP (encrypted), and over WebSocket without TLS, in protobuf;");
    println!("each client sends {MESSAGE_BYTES} bytes {HERTZ} times per second to the others.");
    println!("Server on one core, load on another.");
    let steps = match clients {
        Some(clients) => vec![clients],
        None => length.pick(UDP_STEPS.to_vec(), vec![100]),
    };
    let websocket = measure_aether(Protocol::Rooms, flush_ms, &steps, length)?;
    let udp = measure_aether(Protocol::Udp, flush_ms, &steps, length)?;
    println!("\nclients   µs over UDP   µs over WebSocket   percent");
    let mut last = (0, f64::INFINITY, f64::INFINITY);
    for (over_udp, over_websocket) in udp.iter().zip(&websocket).filter(|(udp, _)| udp.is_good()) {
        let percent = 100.0 * over_udp.cpu_us / over_websocket.cpu_us;
        println!("{:>7} {:>13.2} {:>19.2} {percent:>8.0}%", over_udp.clients, over_udp.cpu_us, over_websocket.cpu_us);
        last = (over_udp.clients, percent, over_udp.latency.percentile_ms(99.0));
    }
    let (clients, percent, latency_ms) = last;
    let largest = Best::of(&udp).clients;
    print_result("relay-udp-clients", largest as f64, "clients", "500 or more", largest >= length.pick(500, 100));
    print_result("relay-udp-latency", latency_ms, "ms p99", "under 50 ms", latency_ms < LATENCY_MS_MAX);
    let aim = format!("{UDP_PERCENT_MAX} % or less");
    let unit = format!("% of the CPU per delivery over WebSocket, {clients} clients");
    print_result("relay-udp", percent, &unit, &aim, percent <= UDP_PERCENT_MAX);
    Ok(())
}

/// Result for the largest number of clients that were served in time.
struct Best {
    clients: usize,
    cpu_us: f64,
    latency_ms: f64,
}

impl Best {
    fn of(results: &[Measured]) -> Best {
        let best = results.iter().rfind(|measured| measured.is_good());
        best.map_or(Best { clients: 0, cpu_us: f64::INFINITY, latency_ms: f64::INFINITY }, |best| Best {
            clients: best.clients,
            cpu_us: best.cpu_us,
            latency_ms: best.latency.percentile_ms(99.0),
        })
    }
}

fn measure_aether(protocol: Protocol, flush_ms: u32, steps: &[usize], length: Length) -> Outcome<Vec<Measured>> {
    let room_type = if protocol == Protocol::Matches { "match" } else { "relay" };
    let settings = [
        format!("room.{room_type}.flush_ms={flush_ms}"),
        format!("room.{room_type}.players_max={PER_ROOM}"),
        "webtransport.enabled=false".to_owned(),
    ];
    let path = match protocol {
        Protocol::Matches => "/ws",
        Protocol::Udp => "UDP",
        Protocol::Rooms | Protocol::Bare => "/rt",
    };
    let name = format!("aether, {path}, rooms collect for {flush_ms} ms");
    measure_steps(&name, (Server::aether(&settings)?, protocol), steps, length)
}

/// Increases the number of clients until latency or loss is too high.
fn measure_steps(
    name: &str,
    (server, protocol): (Server, Protocol),
    steps: &[usize],
    length: Length,
) -> Outcome<Vec<Measured>> {
    println!("\n{name}");
    println!("clients   µs/delivery   server   load   p50 ms   p99 ms   lost");
    let mut swarm = match protocol {
        Protocol::Udp => Clients::Udp(UdpSwarm::new()?),
        _ => Clients::WebSocket(Swarm::new()?),
    };
    let mut results = Vec::new();
    for &clients in steps {
        grow(&mut swarm, (&server, protocol), clients)?;
        let mut measured = measure(&mut swarm, (&server, protocol), length)?;
        for _ in 1..ATTEMPTS {
            if measured.is_good() {
                break;
            }
            measured = measure(&mut swarm, (&server, protocol), length)?;
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
        let is_good = measured.is_good();
        results.push(measured);
        if !is_good {
            break;
        }
    }
    Ok(results)
}

fn grow(clients: &mut Clients, (server, protocol): (&Server, Protocol), count: usize) -> Outcome {
    let first = clients.len();
    let tokens = if protocol == Protocol::Bare { Vec::new() } else { server.tokens(count - first)? };
    let with_room = |(token, number): (String, usize)| (token, format!("room-{}", number / PER_ROOM));
    let joining: Vec<(String, String)> = tokens.into_iter().zip(first..).map(with_room).collect();
    let swarm = match clients {
        Clients::Udp(swarm) => return swarm.join(server.http, &joining),
        Clients::WebSocket(swarm) => swarm,
    };
    let joining = match protocol {
        Protocol::Bare => (first..count).map(|_| JoiningClient::bare()).collect(),
        Protocol::Matches => joining.into_iter().map(|(token, room)| JoiningClient::of_match(&token, room)).collect(),
        Protocol::Rooms | Protocol::Udp => {
            let client = |(token, room): (String, String)| JoiningClient::new(&token, "relay", Some(room));
            joining.into_iter().map(client).collect::<Outcome<_>>()?
        }
    };
    swarm.join(server.http, joining)
}

impl Clients {
    fn len(&self) -> usize {
        match self {
            Clients::WebSocket(swarm) => swarm.len(),
            Clients::Udp(swarm) => swarm.len(),
        }
    }

    /// Number of closed clients.
    fn lost(&self) -> usize {
        match self {
            Clients::WebSocket(swarm) => swarm.lost,
            Clients::Udp(swarm) => swarm.lost,
        }
    }

    fn send(&mut self, client: usize, message: &[u8]) {
        match self {
            Clients::WebSocket(swarm) => swarm.send(client, message),
            Clients::Udp(swarm) => swarm.send(client, message),
        }
    }

    /// Returns the id of a client's match, for `/ws`.
    fn joined_id(&self, client: usize) -> &str {
        match self {
            Clients::WebSocket(swarm) => swarm.joined_id(client),
            Clients::Udp(_) => "",
        }
    }

    fn poll(&mut self, until: Instant, take: &mut dyn FnMut(usize, &[u8])) -> Outcome {
        match self {
            Clients::WebSocket(swarm) => swarm.poll(until, take),
            Clients::Udp(swarm) => swarm.poll(until, take),
        }
    }
}

fn measure(swarm: &mut Clients, (server, protocol): (&Server, Protocol), length: Length) -> Outcome<Measured> {
    let clients = swarm.len();
    let epoch = Instant::now();
    let from = Duration::from_millis(length.pick(1_500, 300));
    let to = from + length.measured();
    let mut schedule = SendSchedule::new(HERTZ, clients);
    let mut tally = Tally { epoch, from, to, latency: Times::new(), deliveries: 0, arrived: 0 };
    let (mut sent, mut began) = (0, None);
    let lost_before = swarm.lost();
    while epoch.elapsed() < to {
        if began.is_none() && epoch.elapsed() >= from {
            began = Some((Instant::now(), server.cpu_seconds()?, child::own_cpu_seconds()?));
        }
        for _ in 0..SENDS_PER_TURN {
            let Some((number, at)) = schedule.due(Instant::now()) else { break };
            let stamp = at - epoch;
            sent += u64::from((from..to).contains(&stamp));
            let client = sender(number, clients);
            let message = protocol.message(stamp, swarm.joined_id(client))?;
            swarm.send(client, &message);
        }
        swarm.poll(schedule.next(), &mut |_, message| tally.take(message))?;
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
        lost: expected.saturating_sub(tally.arrived) + (swarm.lost() - lost_before) as u64,
    })
}

/// Client that sends next. The members of a room send evenly over the interval; if all sent at once, the room could
/// collect more than in practice.
fn sender(turn: u64, clients: usize) -> usize {
    let turn = (turn % clients as u64) as usize;
    let rooms = clients / PER_ROOM;
    turn % rooms * PER_ROOM + turn / rooms
}

/// Counts received messages.
struct Tally {
    epoch: Instant,
    from: Duration,
    to: Duration,
    latency: Times,
    /// Messages received during the measurement.
    deliveries: u64,
    /// Received messages that were sent during the measurement.
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

impl Protocol {
    /// Encodes a message of a client to the others of its room.
    fn message(self, stamp: Duration, match_id: &str) -> Outcome<Vec<u8>> {
        let mut payload = MARKER.to_vec();
        payload.extend_from_slice(&(stamp.as_nanos() as u64).to_le_bytes());
        payload.resize(MESSAGE_BYTES, 0);
        if self == Protocol::Matches {
            let data =
                MatchDataSend { match_id: match_id.to_owned(), op_code: 1, data: payload.into(), ..Default::default() };
            return Ok(Envelope { cid: String::new(), message: Some(Message::MatchDataSend(data)) }.encode_to_vec());
        }
        encoded(&ClientMessage::Game(GameMessage { seq: CommandSeq(0), body: GameBody::Packed { code: 1, payload } }))
    }
}

fn stamp(message: &[u8]) -> Option<Duration> {
    let at = message.windows(MARKER.len()).position(|window| window == MARKER)? + MARKER.len();
    let nanoseconds = message.get(at..at + 8)?.try_into().ok()?;
    Some(Duration::from_nanos(u64::from_le_bytes(nanoseconds)))
}
