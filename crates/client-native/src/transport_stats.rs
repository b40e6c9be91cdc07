//! Statistics of a transport.

use std::time::Duration;

/// Statistics of the path to the server, as the transport measures them. Only reliable UDP has them; those of the room,
/// over every transport, are in [`aether_client::ClientStats`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TransportStats {
    /// Smoothed round trip. Zero before it is measured.
    pub round_trip: Duration,
    /// Mean deviation of the round trip.
    pub round_trip_variance: Duration,
    /// Share of the sent packets that were lost, from 0 to 1.
    pub loss: f32,
    /// Number of packets sent.
    pub packets_out: u64,
    /// Number of packets received.
    pub packets_in: u64,
    /// Number of sent packets that were lost.
    pub packets_lost: u64,
    /// Bytes sent, without IP and UDP headers.
    pub bytes_out: u64,
    /// Bytes received, without IP and UDP headers.
    pub bytes_in: u64,
}
