//! Stored chat messages over the services socket, with server and SQLite on one core.
//!
//! Clients send at a fixed rate, whatever the server does, and every member of a channel gets every message. The rate
//! increases until the 99th percentile of the time from sending to a delivery or an acknowledgement is too high.

use crate::child::{self, Server};
use crate::result::{Times, print_result};
use crate::swarm::{JoiningClient, SendSchedule, Swarm};
use crate::{Length, Outcome, api};
use aether_messages::prost::Message as _;
use aether_messages::realtime::envelope::Message;
use aether_messages::realtime::{ChannelMessageSend, Envelope};
use std::time::{Duration, Instant};

/// Marker by which the time of sending is found in a message.
const MARKER: &[u8] = b"sent-at-";
/// Digits of the time of sending, in nanoseconds.
const DIGITS: usize = 16;
const LATENCY_MS_MAX: f64 = 50.0;
/// Messages per second that are to be stored.
const RATE_MIN: f64 = 20_000.0;
/// Number of attempts per rate, because other load on the machine shows as latency.
const ATTEMPTS: usize = 3;
/// Messages sent before received ones are read, so that a late load still reads.
const SENDS_PER_TURN: usize = 64;
/// Longest wait for the last messages.
const DRAIN: Duration = Duration::from_secs(2);

/// Channels of a measurement.
struct Case {
    name: &'static str,
    title: &'static str,
    channels: usize,
    members: usize,
    /// Messages per second of all clients together, in increasing order.
    rates: &'static [u32],
}

const CASES: [Case; 3] = [
    Case {
        name: "chat-stored",
        title: "1,000 channels of 1 member",
        channels: 1_000,
        members: 1,
        rates: &[5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 40_000],
    },
    Case {
        name: "chat",
        title: "1,000 channels of 10 members",
        channels: 1_000,
        members: 10,
        rates: &[2_500, 5_000, 7_500, 10_000, 12_500, 15_000, 20_000],
    },
    Case {
        name: "chat-channel",
        title: "one channel of 1,000 members",
        channels: 1,
        members: 1_000,
        rates: &[100, 200, 400, 700, 1_000, 1_300, 1_600, 2_000],
    },
];

/// Result for one rate.
struct Measured {
    /// Acknowledged messages per second.
    stored: f64,
    /// CPU time of the server per message.
    cpu_us: f64,
    server_share: f64,
    load_share: f64,
    times: Times,
    lost: u64,
}

impl Measured {
    fn is_good(&self) -> bool {
        self.lost == 0 && self.times.percentile_ms(99.0) < LATENCY_MS_MAX
    }
}

pub fn run(length: Length) -> Outcome {
    println!("Each message has 60 bytes of content, is stored in SQLite before it is delivered, and reaches every");
    println!("member with its sender. WebSocket in protobuf, no TLS; server on one core, load on another.");
    for case in CASES {
        let best = measure_case(&case, length)?;
        let (stored, latency_ms, deliveries) = best.map_or((0.0, f64::INFINITY, 0.0), |best| {
            (best.stored, best.times.percentile_ms(99.0), best.stored * case.members as f64)
        });
        println!("{:.0} deliveries per second", deliveries);
        print_result(case.name, stored, "stored messages per second", "20,000 or more", stored >= RATE_MIN);
        let name = format!("{}-latency", case.name);
        print_result(&name, latency_ms, "ms p99", "under 50 ms", latency_ms < LATENCY_MS_MAX);
    }
    Ok(())
}

/// Increases the rate until latency or loss is too high. Returns the last good result.
fn measure_case(case: &Case, length: Length) -> Outcome<Option<Measured>> {
    println!("\n{}", case.title);
    println!("per second   stored   µs/message   server   load   p50 ms   p99 ms   lost");
    let channels = length.pick(case.channels, case.channels.min(20));
    let members = length.pick(case.members, case.members.min(50));
    let server = Server::aether(&["webtransport.enabled=false".to_owned()])?;
    let mut swarm = join(&server, channels, members)?;
    let mut best = None;
    for &rate in &case.rates[..length.pick(case.rates.len(), 1)] {
        let rate = length.pick(rate, rate.min(200));
        let mut measured = measure(&mut swarm, &server, (rate, members), length)?;
        for _ in 1..ATTEMPTS {
            if measured.is_good() {
                break;
            }
            measured = measure(&mut swarm, &server, (rate, members), length)?;
        }
        println!(
            "{rate:>10} {:>8.0} {:>12.1} {:>7.0}% {:>5.0}% {:>8.1} {:>8.1} {:>6}",
            measured.stored,
            measured.cpu_us,
            measured.server_share * 100.0,
            measured.load_share * 100.0,
            measured.times.percentile_ms(50.0),
            measured.times.percentile_ms(99.0),
            measured.lost,
        );
        if !measured.is_good() {
            break;
        }
        best = Some(measured);
    }
    Ok(best)
}

/// Connects the members of all channels, each with an account.
fn join(server: &Server, channels: usize, members: usize) -> Outcome<Swarm> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let accounts = runtime.block_on(api::accounts(server.http, channels * members))?;
    let client = |(number, (token, _)): (usize, &(String, String))| {
        JoiningClient::of_channel(token, format!("channel-{}", number / members))
    };
    let mut swarm = Swarm::new()?;
    swarm.join(server.http, accounts.iter().enumerate().map(client).collect())?;
    Ok(swarm)
}

fn measure(swarm: &mut Swarm, server: &Server, (rate, members): (u32, usize), length: Length) -> Outcome<Measured> {
    let clients = swarm.len() as u64;
    let epoch = Instant::now();
    let from = Duration::from_millis(length.pick(1_500, 300));
    let to = from + length.measured();
    let mut schedule = SendSchedule::per_second(rate);
    let mut tally = Tally { epoch, from, to, times: Times::new(), acknowledged: 0, arrived: 0 };
    let (mut sent, mut began) = (0_u64, None);
    let lost_before = swarm.lost;
    while epoch.elapsed() < to {
        if began.is_none() && epoch.elapsed() >= from {
            began = Some((Instant::now(), server.cpu_seconds()?, child::own_cpu_seconds()?));
        }
        for _ in 0..SENDS_PER_TURN {
            let Some((number, at)) = schedule.due(Instant::now()) else { break };
            let stamp = at.saturating_duration_since(epoch);
            sent += u64::from((from..to).contains(&stamp));
            // Neighbours are of the same channel; a step that shares no divisor visits all.
            let client = (number.wrapping_mul(7_919) % clients) as usize;
            let message = message(stamp, swarm.joined_id(client));
            swarm.send(client, &message);
        }
        swarm.poll(schedule.next().min(epoch + to), &mut |_, message| tally.take(message))?;
    }
    let (began, server_cpu, load_cpu) = began.ok_or("nothing was measured")?;
    let took = began.elapsed().as_secs_f64();
    let server_cpu = server.cpu_seconds()? - server_cpu;
    let load_cpu = child::own_cpu_seconds()? - load_cpu;
    let end = Instant::now() + DRAIN;
    let expected = sent * members as u64;
    while Instant::now() < end && (tally.arrived < expected || tally.acknowledged < sent) {
        swarm.poll(end, &mut |_, message| tally.take(message))?;
    }
    let missing = expected.saturating_sub(tally.arrived) + sent.saturating_sub(tally.acknowledged);
    Ok(Measured {
        stored: tally.acknowledged as f64 / took,
        cpu_us: server_cpu * 1e6 / sent as f64,
        server_share: server_cpu / took,
        load_share: load_cpu / took,
        times: tally.times,
        lost: missing + (swarm.lost - lost_before) as u64,
    })
}

/// Counts received messages.
struct Tally {
    epoch: Instant,
    from: Duration,
    to: Duration,
    times: Times,
    /// Acknowledged messages that were sent during the measurement.
    acknowledged: u64,
    /// Deliveries of messages that were sent during the measurement.
    arrived: u64,
}

impl Tally {
    fn take(&mut self, message: &[u8]) {
        let Some((kind, at)) = stamp(message) else { return };
        if !(self.from..self.to).contains(&at) {
            return;
        }
        self.times.record(self.epoch.elapsed().saturating_sub(at));
        match kind {
            Kind::Delivery => self.arrived += 1,
            Kind::Acknowledgement => self.acknowledged += 1,
        }
    }
}

/// Kind of a received message.
enum Kind {
    Delivery,
    Acknowledgement,
}

/// Encodes a message to a channel. Its `cid` has the time of sending too, which the acknowledgement repeats.
fn message(stamp: Duration, channel: &str) -> Vec<u8> {
    let at = format!("sent-at-{:016}", stamp.as_nanos());
    let content = format!(r#"{{"text":"a sentence as players write it","at":"{at}"}}"#);
    let send = ChannelMessageSend { channel_id: channel.to_owned(), content };
    Envelope { cid: at, message: Some(Message::ChannelMessageSend(send)) }.encode_to_vec()
}

/// Reads the time of sending. An acknowledgement begins with the `cid`, and only it has the time there.
fn stamp(message: &[u8]) -> Option<(Kind, Duration)> {
    let at = message.windows(MARKER.len()).position(|window| window == MARKER)?;
    let digits = message.get(at + MARKER.len()..at + MARKER.len() + DIGITS)?;
    let nanoseconds = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let kind = if at == 2 { Kind::Acknowledgement } else { Kind::Delivery };
    Some((kind, Duration::from_nanos(nanoseconds)))
}
