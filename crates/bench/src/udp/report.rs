//! Results of one library in the benchmark `udp`. `peers/udp` includes this file.

use std::time::Duration;

use super::forwarder::Traffic;
use super::workload::MESSAGE_BYTES;

/// Bytes of the IPv4 and UDP headers of a datagram.
const HEADER_BYTES: u64 = 28;

/// Messages that a server echoed, and its CPU time.
pub struct Throughput {
    pub echoed: u64,
    pub lost: u64,
    pub wall_seconds: f64,
    pub cpu_seconds: f64,
}

impl Throughput {
    /// Messages received and sent back, per second of the server's CPU time.
    pub fn per_core(&self) -> f64 {
        self.echoed as f64 / self.cpu_seconds.max(1e-9)
    }

    /// CPU time of the server in percent of a core.
    pub fn busy_percent(&self) -> f64 {
        self.cpu_seconds / self.wall_seconds.max(1e-9) * 100.0
    }
}

/// Times from a send to its echo.
pub struct Latency {
    pub p50_ms: f64,
    pub p99_ms: f64,
}

impl Latency {
    pub fn new(mut times: Vec<Duration>) -> Latency {
        times.sort_unstable();
        let percentile = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100).max(1) - 1;
            times.get(rank).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
        };
        Latency { p50_ms: percentile(50), p99_ms: percentile(99) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let latency = Latency::new((1..=200).rev().map(Duration::from_millis).collect());
        assert_eq!((latency.p50_ms, latency.p99_ms), (100.0, 198.0));
        assert!(Latency::new(Vec::new()).p50_ms.is_nan());
    }
}
