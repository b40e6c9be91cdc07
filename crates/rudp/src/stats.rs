//! Figures of a connection.

use std::time::Duration;

/// Figures of a connection since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConnectionStats {
    /// Smoothed round-trip time; zero before the first sample.
    pub round_trip: Duration,
    /// Mean deviation of the round-trip time.
    pub round_trip_variance: Duration,
    /// Smallest round-trip time seen.
    pub round_trip_min: Duration,
    /// Share of the packets with content that were lost, 0 to 1.
    pub loss: f32,
    /// Packets sent.
    pub packets_out: u64,
    /// Authentic packets received.
    pub packets_in: u64,
    /// Bytes of the packets sent, without IP and UDP headers.
    pub bytes_out: u64,
    /// Bytes of the authentic packets received.
    pub bytes_in: u64,
    /// Packets with content that were declared lost.
    pub packets_lost: u64,
    /// Messages or fragments that were sent again.
    pub resends: u64,
    /// Unreliable messages dropped from a full queue.
    pub unreliable_dropped: u64,
    /// Bytes that may be under way.
    pub congestion_window: usize,
    /// Bytes that are under way.
    pub under_way: usize,
}
