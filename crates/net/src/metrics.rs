//! Metrics of connections.

use crate::connection::GONE;
use crate::protocol::room::RoomProtocolMetrics;
use aether_metrics::{Counter, Gauge, Histogram, Registry};
use aether_wire::CloseReason;

/// Histogram buckets in seconds: from the time of a pong to that of a join.
pub(crate) const SECONDS: &[f64] =
    &[0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0];

/// Metrics of connections, resolved once so that nothing is looked up by name later.
#[derive(Clone, Debug)]
pub struct ConnectionMetrics {
    registry: Registry,
    pub(crate) bytes_in: Counter,
    pub(crate) bytes_out: Counter,
    pub(crate) decode_errors: Counter,
    pub(crate) encode_errors: Counter,
    pub(crate) violations: Counter,
    pub(crate) refused: Counter,
    /// Messages that exceeded their rate.
    pub(crate) drops_rate: Counter,
    /// Time from the creation of an answer until it is written.
    pub(crate) answer_dispatch: Histogram,
    /// Metrics of the room protocol.
    pub(crate) room: RoomProtocolMetrics,
}

impl ConnectionMetrics {
    /// Registers the metrics.
    #[must_use]
    pub fn new(registry: &Registry) -> ConnectionMetrics {
        let counter = |name: &str, help: &str, labels: &[(&str, &str)]| registry.counter(name, help, labels);
        let bytes = |name: &str, help: &str| counter(name, help, &[]);
        let dispatch = "Time from the creation of a pong until it is written.";
        ConnectionMetrics {
            bytes_in: bytes("aether_bytes_received_total", "Bytes of messages received from clients, without framing."),
            bytes_out: bytes("aether_bytes_sent_total", "Bytes of messages sent to clients, without framing."),
            decode_errors: counter("aether_decode_errors_total", "Client messages that could not be decoded.", &[]),
            encode_errors: counter("aether_encode_errors_total", "Server messages that could not be encoded.", &[]),
            violations: counter("aether_connection_errors_total", "Connections that ended with a framing error.", &[]),
            refused: counter("aether_connections_refused_total", "Connections rejected by a limit.", &[]),
            drops_rate: dropped(registry, "rate"),
            answer_dispatch: registry.histogram("aether_pong_dispatch_seconds", dispatch, &[], SECONDS),
            room: RoomProtocolMetrics::new(registry),
            registry: registry.clone(),
        }
        .with_close_reasons()
    }

    /// Registers all close reasons at the start, so that rates count from the first event.
    fn with_close_reasons(self) -> ConnectionMetrics {
        for reason in CloseReason::ALL.iter().map(|reason| reason.name()).chain([GONE]) {
            self.closed(reason);
        }
        self
    }

    /// Gauge of open connections of a transport.
    pub(crate) fn open(&self, transport: &'static str) -> Gauge {
        self.registry.gauge("aether_active_connections", "Open realtime connections.", &[("transport", transport)])
    }

    /// Counter of connections that ended for a reason. Looked up once per connection.
    pub(crate) fn closed(&self, reason: &'static str) -> Counter {
        self.registry.counter("aether_connections_closed_total", "Closed connections.", &[("reason", reason)])
    }
}

/// Counter of client messages that were dropped for a reason.
pub(crate) fn dropped(registry: &Registry, reason: &'static str) -> Counter {
    registry.counter("aether_messages_dropped_total", "Dropped client messages.", &[("reason", reason)])
}
