//! Metrics of WebTransport, in addition to those of all connections.

use aether_metrics::{Counter, Registry};

/// Metrics of a WebTransport server, resolved once and shared by its sessions.
#[derive(Clone, Debug)]
pub(super) struct WebTransportMetrics {
    pub handshakes: HandshakeCounters,
    pub datagrams: DatagramCounters,
}

/// Counters of handshakes, by result.
#[derive(Clone, Debug)]
pub(super) struct HandshakeCounters {
    pub done: Counter,
    pub retried: Counter,
    pub refused: Counter,
    pub too_slow: Counter,
    pub lost: Counter,
    pub bad_protocol: Counter,
    pub bad_path: Counter,
}

/// Counters of dropped datagrams, by reason.
#[derive(Clone, Debug)]
pub(super) struct DatagramCounters {
    pub too_early: Counter,
    pub too_long: Counter,
    pub out_of_place: Counter,
    pub not_sent: Counter,
}

impl WebTransportMetrics {
    pub(super) fn new(registry: &Registry) -> WebTransportMetrics {
        let handshake = |result: &'static str| {
            let help = "WebTransport handshakes.";
            registry.counter("aether_webtransport_handshakes_total", help, &[("result", result)])
        };
        let datagram = |reason: &'static str| {
            registry.counter("aether_datagrams_dropped_total", "Dropped datagrams.", &[("reason", reason)])
        };
        WebTransportMetrics {
            handshakes: HandshakeCounters {
                done: handshake("done"),
                retried: handshake("retried"),
                refused: handshake("refused"),
                too_slow: handshake("too_slow"),
                lost: handshake("lost"),
                bad_protocol: handshake("bad_protocol"),
                bad_path: handshake("bad_path"),
            },
            datagrams: DatagramCounters {
                too_early: datagram("too_early"),
                too_long: datagram("too_long"),
                out_of_place: datagram("out_of_place"),
                not_sent: datagram("not_sent"),
            },
        }
    }
}
