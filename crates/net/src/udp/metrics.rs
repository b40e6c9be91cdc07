//! Metrics of reliable UDP, in addition to those of all connections.

use aether_metrics::{Counter, Registry};
use aether_rudp::DropReason;

/// Metrics of a UDP listener, resolved once and shared by its sockets and connections.
#[derive(Clone, Debug)]
pub(super) struct UdpMetrics {
    pub handshakes: HandshakeCounters,
    pub dropped: DatagramCounters,
    pub received: Counter,
    pub sent: Counter,
    pub receive_calls: Counter,
    pub send_calls: Counter,
    pub messages_unsent: Counter,
    pub messages_too_long: Counter,
    pub resends: Counter,
}

/// Counters of handshakes, by result.
#[derive(Clone, Debug)]
pub(super) struct HandshakeCounters {
    /// Requests that were answered with a challenge, and accepts that were sent again.
    pub answered: Counter,
    pub accepted: Counter,
    /// Requests beyond the rate of their network.
    pub limited: Counter,
    /// Clients with a valid token that the server did not take: too many wait to be served, or the listener stops.
    pub refused: Counter,
}

/// Counters of dropped datagrams, by reason.
#[derive(Clone, Debug)]
pub(super) struct DatagramCounters {
    by_reason: Vec<(DropReason, Counter)>,
    /// The client's messages are not read, so that no more are taken.
    pub unread: Counter,
    /// The queue of the socket that the connection belongs to is full.
    pub other_socket: Counter,
    /// The system refused to send it.
    pub unsent: Counter,
}

impl UdpMetrics {
    pub fn new(registry: &Registry) -> UdpMetrics {
        let counter = |name: &str, help: &str| registry.counter(name, help, &[]);
        let handshake = |result: &'static str| {
            let help = "Handshakes of reliable UDP.";
            registry.counter("aether_udp_handshakes_total", help, &[("result", result)])
        };
        let dropped = |reason: &'static str| {
            let help = "Datagrams of reliable UDP that were dropped.";
            registry.counter("aether_udp_datagrams_dropped_total", help, &[("reason", reason)])
        };
        let message = |reason: &'static str| {
            let help = "Messages of reliable UDP that were dropped.";
            registry.counter("aether_udp_messages_dropped_total", help, &[("reason", reason)])
        };
        UdpMetrics {
            handshakes: HandshakeCounters {
                answered: handshake("answered"),
                accepted: handshake("accepted"),
                limited: handshake("limited"),
                refused: handshake("refused"),
            },
            dropped: DatagramCounters {
                by_reason: DropReason::ALL.iter().map(|reason| (*reason, dropped(reason.label()))).collect(),
                unread: dropped("unread"),
                other_socket: dropped("other_socket"),
                unsent: dropped("unsent"),
            },
            received: counter("aether_udp_datagrams_received_total", "Datagrams that arrived for reliable UDP."),
            sent: counter("aether_udp_datagrams_sent_total", "Datagrams that reliable UDP has sent."),
            receive_calls: counter("aether_udp_receive_calls_total", "Batches of datagrams that were received."),
            send_calls: counter("aether_udp_send_calls_total", "Batches of datagrams that were sent."),
            messages_unsent: message("unsent"),
            messages_too_long: message("too_long"),
            resends: counter("aether_udp_resends_total", "Datagrams of closed connections that were sent again."),
        }
    }
}

impl DatagramCounters {
    /// Counts dropped datagrams.
    pub fn count(&self, reason: DropReason, datagrams: u64) {
        if let Some((_, counter)) = self.by_reason.iter().find(|(known, _)| *known == reason) {
            counter.add(datagrams);
        }
    }
}
