//! Reliable UDP: CPU time per packet compared with bare datagrams, and messages per core, latency and overhead compared
//! with other libraries.

mod aether;
mod bare;
mod forwarder;
mod process;
mod report;
mod table;
mod workload;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use aether_rudp::{Channel, TokenKey};

use self::aether::Aether;
use self::bare::Bare;
use self::forwarder::Traffic;
use self::report::{Figures, Throughput};
use self::workload::{BURST, MESSAGE_BYTES, PATH_DELAY, Size};
use crate::result::print_result;
use crate::{Outcome, child};

/// Rounds of the comparison with bare datagrams. Each measures both, so that both see the same load of other programs.
const ROUNDS: usize = 3;
const PACKET_RATIO_MAX: f64 = 1.5;

/// Arguments of the benchmark.
#[derive(clap::Args)]
pub struct UdpArguments {
    /// Runs briefly, only to show that the benchmark works
    #[arg(long)]
    short: bool,
    /// Program of `peers/udp`, which runs other libraries on the same workload
    #[arg(long)]
    peers: Option<PathBuf>,
}

/// Arguments of the echo server.
#[derive(clap::Args)]
pub struct UdpServerArguments {
    /// Key of the tokens in hexadecimal digits
    #[arg(long)]
    key: String,
    /// Handles what came in ticks instead of at once
    #[arg(long)]
    ticks: bool,
}

pub fn run(arguments: &UdpArguments) -> Outcome {
    let size = Size::new(arguments.short);
    println!(
        "{} clients send messages of {MESSAGE_BYTES} bytes, and the server sends them back. Single: a client",
        size.clients
    );
    println!("sends one message and waits. In bursts: it sends {BURST} at once. Everything of ours is encrypted.");
    println!("Beside bare datagrams, both servers work in ticks of a millisecond, so that both get the same batches.");
    let rounds = if arguments.short { 1 } else { ROUNDS };
    let single = packet_ratio(size, 1, rounds)?;
    let burst = packet_ratio(size, BURST, rounds)?;

    println!(
        "\nLatency and bytes: {} clients, 50 sends a second each, through a path with {} ms each way.",
        size.paced_clients,
        PATH_DELAY.as_millis()
    );
    println!("{}", table::HEADER);
    let mut ours = Vec::new();
    for channel in [Channel::ReliableOrdered, Channel::Unreliable] {
        ours.push(workload::measure(&aether(channel, false)?, size)?.figures());
        println!("{}", table::row(&ours[ours.len() - 1]));
    }
    if let Some(program) = &arguments.peers {
        compare(program, arguments.short, &ours)?;
    }
    let aim = "1.5 times or less";
    let unit = "times the CPU time of a bare packet";
    print_result("udp-single", single, unit, aim, single <= PACKET_RATIO_MAX);
    print_result("udp-bursts", burst, unit, aim, burst <= PACKET_RATIO_MAX);
    let worst = single.max(burst);
    print_result("udp", worst, unit, aim, worst <= PACKET_RATIO_MAX);
    Ok(())
}

/// Runs the echo server of our transport.
pub fn serve(arguments: &UdpServerArguments) -> Outcome {
    aether::serve(&arguments.key, arguments.ticks)
}

/// Runs the echo server of bare datagrams.
pub fn serve_bare() -> Outcome {
    bare::serve()
}

fn aether(channel: Channel, has_ticks: bool) -> Outcome<Aether> {
    Ok(Aether { channel, server_core: child::server_core(), key: TokenKey::random()?, has_ticks })
}

/// Median over the rounds of our CPU time per packet, divided by that of bare datagrams of the same size.
fn packet_ratio(size: Size, burst: usize, rounds: usize) -> Outcome<f64> {
    println!(
        "\nBursts of {burst}, reliable   messages per packet   bytes per packet   CPU per packet   CPU per message"
    );
    let server_core = child::server_core();
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        let own = Counted::new(workload::throughput(&aether(Channel::ReliableOrdered, true)?, size, burst)?)?;
        own.show("aether");
        let messages_per_datagram = divisor_near(burst, own.messages_per_packet().round() as usize);
        let bare = Bare { server_core, datagram_bytes: own.bytes_per_packet() as usize, messages_per_datagram };
        let bare = Counted::new(workload::throughput(&bare, size, burst)?)?;
        bare.show("bare datagrams");
        ratios.push(own.cpu_ns_per_packet() / bare.cpu_ns_per_packet());
    }
    ratios.sort_unstable_by(f64::total_cmp);
    Ok(ratios[ratios.len() / 2])
}

/// Largest divisor of a burst that is not above `wanted`, so that no message waits for a full datagram.
fn divisor_near(burst: usize, wanted: usize) -> usize {
    (1..=wanted.max(1)).rev().find(|divisor| burst.is_multiple_of(*divisor)).unwrap_or(1)
}

/// A throughput with its packets. Every message is received and sent back by the server, so it counts twice.
struct Counted {
    throughput: Throughput,
    traffic: Traffic,
}

impl Counted {
    fn new((throughput, traffic): (Throughput, Option<Traffic>)) -> Outcome<Counted> {
        let traffic = traffic.filter(|traffic| traffic.datagrams > 0).ok_or("no packet was counted")?;
        Ok(Counted { throughput, traffic })
    }

    fn messages_per_packet(&self) -> f64 {
        2.0 * self.throughput.echoed as f64 / self.traffic.datagrams as f64
    }

    fn bytes_per_packet(&self) -> f64 {
        self.traffic.bytes as f64 / self.traffic.datagrams as f64
    }

    fn cpu_ns_per_packet(&self) -> f64 {
        self.throughput.cpu_seconds * 1e9 / self.traffic.datagrams as f64
    }

    fn show(&self, name: &str) {
        println!(
            "{name:<24} {:>19.2} {:>18.0} {:>13.0} ns {:>14.0} ns   server {:.0} % busy, {} lost",
            self.messages_per_packet(),
            self.bytes_per_packet(),
            self.cpu_ns_per_packet(),
            self.cpu_ns_per_packet() / self.messages_per_packet(),
            self.throughput.busy_percent(),
            self.throughput.lost,
        );
    }
}

/// Runs the other libraries and compares messages per core, reliable with reliable.
fn compare(program: &Path, is_short: bool, ours: &[Figures]) -> Outcome {
    let mut command = Command::new(program);
    command.arg(child::server_core().to_string()).stdin(Stdio::null()).stderr(Stdio::inherit());
    if is_short {
        command.arg("--short");
    }
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let peers: Vec<Figures> = text.lines().filter_map(table::parse).collect();
    if !output.status.success() || peers.is_empty() {
        return Err(format!("{} failed: {}", program.display(), text.trim()).into());
    }
    for peer in &peers {
        println!("{}", table::row(peer));
    }
    for peer in &peers {
        let is_reliable = !peer.lossy_p50_ms.is_nan();
        let own = ours.iter().find(|own| own.lossy_p50_ms.is_nan() != is_reliable).ok_or("nothing to compare with")?;
        let ratio = (own.single_per_core / peer.single_per_core).min(own.burst_per_core / peer.burst_per_core);
        let name = format!("udp-{}", peer.name.replace(' ', "-"));
        print_result(&name, ratio, "times its messages per core", "more than 1", ratio > 1.0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_of_a_burst_hold_equally_many_messages() {
        assert_eq!([1, 3, 4, 5, 16, 40].map(|wanted| divisor_near(16, wanted)), [1, 2, 4, 4, 16, 16]);
        assert_eq!(divisor_near(1, 4), 1);
    }
}
