//! What the operator sees of connections.

use crate::connection::GONE;
use aether_metrics::{Counter, Gauge, Histogram, Registry};
use aether_wire::{ClientMessage, CloseReason, ServerMessage};

/// Seconds, from what a pong takes to what a joining player waits.
const SECONDS: &[f64] =
    &[0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0];

/// All figures of connections, resolved once so that nothing is looked up by name later.
#[derive(Clone, Debug)]
pub struct Counters {
    registry: Registry,
    pub(crate) packets_in: [Counter; ClientMessage::NAMES.len()],
    pub(crate) packets_out: [Counter; ServerMessage::NAMES.len()],
    pub(crate) bytes_in: Counter,
    pub(crate) bytes_out: Counter,
    pub(crate) decode_errors: Counter,
    pub(crate) encode_errors: Counter,
    pub(crate) violations: Counter,
    pub(crate) refused: Counter,
    pub(crate) drops: Drops,
    pub(crate) pings: Counter,
    pub(crate) ping_hold: Histogram,
    pub(crate) pong_dispatch: Histogram,
    pub(crate) auth_to_possession: Histogram,
}

/// What was dropped, by reason.
#[derive(Clone, Debug)]
pub(crate) struct Drops {
    pub before_hello: Counter,
    pub rate: Counter,
    pub inbox_full: Counter,
    pub fragment: Counter,
    pub out_of_place: Counter,
}

impl Counters {
    /// Declares all of them.
    #[must_use]
    pub fn new(registry: &Registry) -> Counters {
        let counter = |name: &str, help: &str, labels: &[(&str, &str)]| registry.counter(name, help, labels);
        let seconds = |name: &str, help: &str| registry.histogram(name, help, &[], SECONDS);
        let packets = |direction: &'static str, names: [&'static str; 15]| {
            names.map(|kind| {
                let labels = [("direction", direction), ("kind", kind)];
                counter("aether_packets_total", "Messages of realtime connections.", &labels)
            })
        };
        let bytes = |direction: &'static str| {
            counter("aether_bytes_total", "Bytes of realtime messages, without framing.", &[("direction", direction)])
        };
        let drop = |reason: &'static str| {
            counter("aether_drops_total", "Messages of clients that were dropped.", &[("reason", reason)])
        };
        Counters {
            packets_in: packets("in", ClientMessage::NAMES),
            packets_out: packets("out", ServerMessage::NAMES),
            bytes_in: bytes("in"),
            bytes_out: bytes("out"),
            decode_errors: counter("aether_decode_errors_total", "Messages that could not be read.", &[]),
            encode_errors: counter("aether_encode_errors_total", "Messages that could not be written.", &[]),
            violations: counter("aether_connection_errors_total", "Connections whose bytes made no sense.", &[]),
            refused: counter("aether_connections_refused_total", "Connections beyond a limit.", &[]),
            drops: Drops {
                before_hello: drop("before_hello"),
                rate: drop("rate"),
                inbox_full: drop("inbox_full"),
                fragment: drop("fragment"),
                out_of_place: drop("out_of_place"),
            },
            pings: counter("aether_pings_total", "Pings received.", &[]),
            ping_hold: seconds("aether_ping_hold_seconds", "From a ping's arrival until its pong is made."),
            pong_dispatch: seconds("aether_pong_dispatch_seconds", "From a pong's making until it is written."),
            auth_to_possession: seconds("aether_auth_to_possession_seconds", "From a hello until a player's entity."),
            registry: registry.clone(),
        }
        .with_close_reasons()
    }

    /// Every reason is shown from the start, so that a rate can be told from the first one on.
    fn with_close_reasons(self) -> Counters {
        for reason in CloseReason::ALL.iter().map(|reason| reason.name()).chain([GONE]) {
            self.closed(reason);
        }
        self
    }

    /// How many connections of a transport are open.
    pub(crate) fn open(&self, transport: &'static str) -> Gauge {
        self.registry.gauge("aether_connections", "Open realtime connections.", &[("transport", transport)])
    }

    /// Connections that ended for a reason. It is asked for once in a connection's life.
    pub(crate) fn closed(&self, reason: &'static str) -> Counter {
        self.registry.counter("aether_connections_closed_total", "Connections that ended.", &[("reason", reason)])
    }
}

/// A client message's place in [`ClientMessage::NAMES`].
pub(crate) fn kind_in(message: &ClientMessage) -> usize {
    match message {
        ClientMessage::Hello(_) => 0,
        ClientMessage::Inputs(_) => 1,
        ClientMessage::Ack(_) => 2,
        ClientMessage::Ping(_) => 3,
        ClientMessage::Heartbeat => 4,
        ClientMessage::Game(_) => 5,
        ClientMessage::MovementDelta(_) => 6,
        ClientMessage::SpawnRequest(_) => 7,
        ClientMessage::PlaygroundSpawn(_) => 8,
        ClientMessage::PlaygroundClear(_) => 9,
        ClientMessage::PlaygroundStress(_) => 10,
        ClientMessage::ManifestRequest => 11,
        ClientMessage::SchemaRequest => 12,
        ClientMessage::Leave => 13,
        ClientMessage::Fragment(_) => 14,
    }
}

/// State packets' place in [`ServerMessage::NAMES`].
pub(crate) const SNAPSHOT: usize = 1;
/// Events' place in it.
pub(crate) const EVENT: usize = 2;

/// A server message's place in [`ServerMessage::NAMES`].
pub(crate) fn kind_out(message: &ServerMessage) -> usize {
    match message {
        ServerMessage::Welcome(_) => 0,
        ServerMessage::Snapshot(_) => SNAPSHOT,
        ServerMessage::Event(_) => EVENT,
        ServerMessage::Possession(_) => 3,
        ServerMessage::Correction(_) => 4,
        ServerMessage::Ack(_) => 5,
        ServerMessage::Pong(_) => 6,
        ServerMessage::Error(_) => 7,
        ServerMessage::InterestEnter(_) => 8,
        ServerMessage::InterestLeave(_) => 9,
        ServerMessage::Manifest(_) => 10,
        ServerMessage::Schema(_) => 11,
        ServerMessage::Cleared(_) => 12,
        ServerMessage::Closing(_) => 13,
        ServerMessage::Fragment(_) => 14,
    }
}
