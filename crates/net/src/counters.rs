//! Metrics of connections.

use crate::connection::GONE;
use crate::protocol::room::RoomProtocolMetrics;
use aether_metrics::{Counter, Gauge, Histogram, Registry};
use aether_wire::CloseReason;

/// Seconds, from what a pong takes to what a joining player waits.
pub(crate) const SECONDS: &[f64] =
    &[0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0];

/// All figures of connections, resolved once so that nothing is looked up by name later.
#[derive(Clone, Debug)]
pub struct ConnectionMetrics {
    registry: Registry,
    pub(crate) bytes_in: Counter,
    pub(crate) bytes_out: Counter,
    pub(crate) decode_errors: Counter,
    pub(crate) encode_errors: Counter,
    pub(crate) violations: Counter,
    pub(crate) refused: Counter,
    /// Messages beyond their rate.
    pub(crate) drops_rate: Counter,
    /// From an answer's making until it is written.
    pub(crate) answer_dispatch: Histogram,
    /// Those of the room protocol.
    pub(crate) room: RoomProtocolMetrics,
}

impl ConnectionMetrics {
    /// Declares all of them.
    #[must_use]
    pub fn new(registry: &Registry) -> ConnectionMetrics {
        let counter = |name: &str, help: &str, labels: &[(&str, &str)]| registry.counter(name, help, labels);
        let bytes = |direction: &'static str| {
            counter("aether_bytes_total", "Bytes of realtime messages, without framing.", &[("direction", direction)])
        };
        let dispatch = "From a pong's making until it is written.";
        ConnectionMetrics {
            bytes_in: bytes("in"),
            bytes_out: bytes("out"),
            decode_errors: counter("aether_decode_errors_total", "Messages that could not be read.", &[]),
            encode_errors: counter("aether_encode_errors_total", "Messages that could not be written.", &[]),
            violations: counter("aether_connection_errors_total", "Connections whose bytes made no sense.", &[]),
            refused: counter("aether_connections_refused_total", "Connections beyond a limit.", &[]),
            drops_rate: dropped(registry, "rate"),
            answer_dispatch: registry.histogram("aether_pong_dispatch_seconds", dispatch, &[], SECONDS),
            room: RoomProtocolMetrics::new(registry),
            registry: registry.clone(),
        }
        .with_close_reasons()
    }

    /// Every reason is shown from the start, so that a rate can be told from the first one on.
    fn with_close_reasons(self) -> ConnectionMetrics {
        for reason in CloseReason::ALL.iter().map(|reason| reason.name()).chain([GONE]) {
            self.closed(reason);
        }
        self
    }

    /// Number of open connections of a transport.
    pub(crate) fn open(&self, transport: &'static str) -> Gauge {
        self.registry.gauge("aether_connections", "Open realtime connections.", &[("transport", transport)])
    }

    /// Connections that ended for a reason. It is asked for once in a connection's life.
    pub(crate) fn closed(&self, reason: &'static str) -> Counter {
        self.registry.counter("aether_connections_closed_total", "Connections that ended.", &[("reason", reason)])
    }
}

/// Messages of clients that were dropped for a reason.
pub(crate) fn dropped(registry: &Registry, reason: &'static str) -> Counter {
    registry.counter("aether_drops_total", "Messages of clients that were dropped.", &[("reason", reason)])
}
