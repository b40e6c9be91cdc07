//! Metrics of multicast.

use aether_metrics::{Counter, Gauge, Registry};
use aether_wire::lan::LanDecodeError;

/// Metrics of a multicast server, resolved once.
#[derive(Clone)]
pub struct MulticastMetrics {
    pub queries: Counter,
    pub watches: Counter,
    pub foreign: Counter,
    pub length: Counter,
    pub malformed: Counter,
    pub limited: Counter,
    pub not_sent: Counter,
    pub frames: Counter,
    pub bytes: Counter,
    pub streams: Gauge,
}

impl MulticastMetrics {
    pub fn new(registry: &Registry) -> Self {
        let request =
            |kind| registry.counter("aether_multicast_requests_total", "Requests on the LAN.", &[("kind", kind)]);
        let dropped = |reason| {
            let help = "Packets of the LAN that were dropped, and answers that were not sent.";
            registry.counter("aether_multicast_dropped_total", help, &[("reason", reason)])
        };
        MulticastMetrics {
            queries: request("query"),
            watches: request("watch"),
            foreign: dropped("foreign"),
            length: dropped("length"),
            malformed: dropped("malformed"),
            limited: dropped("rate_limited"),
            not_sent: dropped("not_sent"),
            frames: registry.counter("aether_multicast_frames_total", "Frames of streams that were sent.", &[]),
            bytes: registry.counter("aether_multicast_bytes_total", "Bytes of those frames.", &[]),
            streams: registry.gauge("aether_multicast_streams", "Rooms that are streamed to spectators.", &[]),
        }
    }

    /// Counts a packet that cannot be read.
    pub fn count_bad(&self, error: LanDecodeError) {
        match error {
            LanDecodeError::Foreign => self.foreign.add(1),
            LanDecodeError::Length => self.length.add(1),
            LanDecodeError::Malformed => self.malformed.add(1),
        }
    }
}
