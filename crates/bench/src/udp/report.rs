//! Results of one library in the benchmark `udp`. `peers/udp` includes this file and prints them as a line, which
//! `aether-bench udp --peers` reads.

use std::time::Duration;

use super::forwarder::Traffic;
use super::workload::MESSAGE_BYTES;

/// Bytes of the IPv4 and UDP headers of a datagram.
const HEADER_BYTES: u64 = 28;

/// Prefix of the line of a report.
pub const LINE_PREFIX: &str = "report ";

/// Messages that a server echoed, and its CPU time.
pub struct Throughput {
    pub echoed: u64,
    pub lost: u64,
    pub wall_seconds: f64,
    pub cpu_seconds: f64,
    /// Packets from and to all clients, if the library counts them.
    pub traffic: Option<Traffic>,
}

impl Throughput {
    /// Messages received and sent back, per second of the server's CPU time.
    pub fn per_core(&self) -> f64 {
        self.echoed as f64 / self.cpu_seconds.max(1e-9)
    }

    /// CPU time of the server per packet received or sent.
    pub fn cpu_ns_per_packet(&self) -> Option<f64> {
        self.traffic.map(|traffic| self.cpu_seconds * 1e9 / traffic.datagrams.max(1) as f64)
    }
}

/// Times from a send to its echo.
pub struct Latency {
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
    /// Share of the messages that came back.
    pub arrived: f64,
}

impl Latency {
    pub fn new(mut times: Vec<Duration>, sent: u64) -> Latency {
        times.sort_unstable();
        let percentile = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100).max(1) - 1;
            times.get(rank).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
        };
        Latency {
            p50_ms: percentile(50),
            p99_ms: percentile(99),
            max_ms: percentile(100),
            arrived: times.len() as f64 / sent.max(1) as f64,
        }
    }
}

/// Bytes on the path for a number of messages.
pub struct Overhead {
    pub traffic: Traffic,
    pub messages: u64,
}

impl Overhead {
    /// Bytes per message beyond its own, headers of IP and UDP included.
    pub fn bytes_per_message(&self) -> f64 {
        let bytes = self.traffic.bytes + self.traffic.datagrams * HEADER_BYTES;
        bytes as f64 / self.messages.max(1) as f64 - MESSAGE_BYTES as f64
    }
}

/// Results of one library.
pub struct Report {
    pub name: String,
    pub single: Throughput,
    pub burst: Throughput,
    pub latency: Latency,
    pub lossy: Option<Latency>,
    pub overhead_single: Overhead,
    pub overhead_burst: Overhead,
}

/// Figures of a report that are shown and compared.
pub struct Figures {
    pub name: String,
    pub single_per_core: f64,
    pub burst_per_core: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub lossy_p50_ms: f64,
    pub lossy_p99_ms: f64,
    pub overhead_single: f64,
    pub overhead_burst: f64,
    /// Share of messages that were lost in the throughput runs.
    pub lost: f64,
}

impl Report {
    pub fn figures(&self) -> Figures {
        let lossy = self.lossy.as_ref().map_or((f64::NAN, f64::NAN), |latency| (latency.p50_ms, latency.p99_ms));
        let lost = self.single.lost + self.burst.lost;
        Figures {
            name: self.name.clone(),
            single_per_core: self.single.per_core(),
            burst_per_core: self.burst.per_core(),
            p50_ms: self.latency.p50_ms,
            p99_ms: self.latency.p99_ms,
            lossy_p50_ms: lossy.0,
            lossy_p99_ms: lossy.1,
            overhead_single: self.overhead_single.bytes_per_message(),
            overhead_burst: self.overhead_burst.bytes_per_message(),
            lost: lost as f64 / (lost + self.single.echoed + self.burst.echoed).max(1) as f64,
        }
    }
}

impl Figures {
    /// Header of the table.
    pub const HEADER: &str = "                        echoes per second of CPU    latency p50 / p99 in ms         bytes per message\n\
                              library                 single     in bursts     no loss         5 % loss        single   in bursts   lost";

    /// Row of the table.
    pub fn row(&self) -> String {
        let lossy = match self.lossy_p50_ms.is_nan() {
            true => "-".to_owned(),
            false => format!("{:.1} / {:.1}", self.lossy_p50_ms, self.lossy_p99_ms),
        };
        format!(
            "{:<20} {:>9.0} {:>13.0}     {:<15} {lossy:<15} {:>6.1} {:>11.1}   {:.2} %",
            self.name,
            self.single_per_core,
            self.burst_per_core,
            format!("{:.1} / {:.1}", self.p50_ms, self.p99_ms),
            self.overhead_single,
            self.overhead_burst,
            self.lost * 100.0,
        )
    }

    /// Line by which another process reports the figures.
    pub fn line(&self) -> String {
        let numbers: Vec<String> = self.numbers().iter().map(f64::to_string).collect();
        format!("{LINE_PREFIX}{} {}", numbers.join(" "), self.name)
    }

    /// Reads such a line.
    pub fn parse(line: &str) -> Option<Figures> {
        let mut parts = line.strip_prefix(LINE_PREFIX)?.splitn(10, ' ');
        let mut number = || parts.next()?.parse::<f64>().ok();
        let numbers = [number()?, number()?, number()?, number()?, number()?, number()?, number()?, number()?, number()?];
        let [single_per_core, burst_per_core, p50_ms, p99_ms, lossy_p50_ms, lossy_p99_ms, rest @ ..] = numbers;
        let [overhead_single, overhead_burst, lost] = rest;
        Some(Figures {
            name: parts.next()?.to_owned(),
            single_per_core,
            burst_per_core,
            p50_ms,
            p99_ms,
            lossy_p50_ms,
            lossy_p99_ms,
            overhead_single,
            overhead_burst,
            lost,
        })
    }

    fn numbers(&self) -> [f64; 9] {
        [
            self.single_per_core,
            self.burst_per_core,
            self.p50_ms,
            self.p99_ms,
            self.lossy_p50_ms,
            self.lossy_p99_ms,
            self.overhead_single,
            self.overhead_burst,
            self.lost,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_its_line() {
        let numbers = "report 1.5 2 3 4 NaN NaN 7 8 0.5 quinn streams";
        let figures = Figures::parse(numbers).unwrap();
        assert_eq!((figures.name.as_str(), figures.single_per_core, figures.lost), ("quinn streams", 1.5, 0.5));
        assert_eq!(figures.line(), numbers);
        assert!(Figures::parse("report 1 2").is_none());
    }

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let latency = Latency::new((1..=200).rev().map(Duration::from_millis).collect(), 400);
        assert_eq!((latency.p50_ms, latency.p99_ms, latency.max_ms, latency.arrived), (100.0, 198.0, 200.0, 0.5));
        assert!(Latency::new(Vec::new(), 1).p50_ms.is_nan());
    }
}
