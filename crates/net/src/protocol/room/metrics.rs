//! Metrics of the room protocol.

use crate::metrics::{SECONDS, dropped};
use aether_metrics::{Counter, Histogram, Registry};
use aether_wire::{ClientMessage, ServerMessage};

/// Metrics of the room protocol, resolved once.
#[derive(Clone, Debug)]
pub(crate) struct RoomProtocolMetrics {
    pub packets_in: [Counter; ClientMessage::NAMES.len()],
    pub packets_out: [Counter; ServerMessage::NAMES.len()],
    pub drops: DropCounters,
    pub pings: Counter,
    pub ping_hold: Histogram,
    pub auth_to_possession: Histogram,
}

/// Counters of dropped messages, by reason.
#[derive(Clone, Debug)]
pub(crate) struct DropCounters {
    pub before_hello: Counter,
    pub inbox_full: Counter,
    pub fragment: Counter,
    pub out_of_place: Counter,
}

impl RoomProtocolMetrics {
    pub fn new(registry: &Registry) -> RoomProtocolMetrics {
        let seconds = |name: &str, help: &str| registry.histogram(name, help, &[], SECONDS);
        let received = |kind| {
            let help = "Messages received from clients.";
            registry.counter("aether_messages_received_total", help, &[("kind", kind)])
        };
        let sent =
            |kind| registry.counter("aether_messages_sent_total", "Messages sent to clients.", &[("kind", kind)]);
        RoomProtocolMetrics {
            packets_in: ClientMessage::NAMES.map(received),
            packets_out: ServerMessage::NAMES.map(sent),
            drops: DropCounters {
                before_hello: dropped(registry, "before_hello"),
                inbox_full: dropped(registry, "inbox_full"),
                fragment: dropped(registry, "fragment"),
                out_of_place: dropped(registry, "out_of_place"),
            },
            pings: registry.counter("aether_pings_total", "Pings received.", &[]),
            ping_hold: seconds(
                "aether_ping_hold_seconds",
                "Time from the arrival of a ping until its pong is created.",
            ),
            auth_to_possession: seconds(
                "aether_auth_to_possession_seconds",
                "Time from a hello until the player possesses an entity.",
            ),
        }
    }
}

/// Returns the index of a client message in [`ClientMessage::NAMES`].
pub(super) fn client_message_index(message: &ClientMessage) -> usize {
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

/// Index of state packets in [`ServerMessage::NAMES`].
pub(super) const SNAPSHOT: usize = 1;
/// Index of events in [`ServerMessage::NAMES`].
pub(super) const EVENT: usize = 2;

/// Returns the index of a server message in [`ServerMessage::NAMES`].
pub(super) fn server_message_index(message: &ServerMessage) -> usize {
    match message {
        ServerMessage::Welcome(_) => 0,
        ServerMessage::Snapshot(_) => SNAPSHOT,
        ServerMessage::Event(_) => EVENT,
        ServerMessage::Possession(_) => 3,
        ServerMessage::Correction(_) => 4,
        ServerMessage::Ack(_) => 5,
        ServerMessage::Pong(_) => 6,
        ServerMessage::Error(_) => 7,
        ServerMessage::Manifest(_) => 8,
        ServerMessage::Schema(_) => 9,
        ServerMessage::Cleared(_) => 10,
        ServerMessage::Closing(_) => 11,
        ServerMessage::Fragment(_) => 12,
    }
}
