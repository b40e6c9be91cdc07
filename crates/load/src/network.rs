//! Simulated network with latency, jitter and loss.

use std::time::{Duration, Instant};

use aether_client_native::TransportKind;
use aether_testkit::{Conditioner, Conditions, Delivery};
use aether_wire::DeliveryPath;

/// Interval at which the simulated network is polled: the accuracy of its delays.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Simulated channels between a bot and the server.
pub(crate) struct SimulatedNetwork {
    start: Instant,
    down_stream: Conditioner<Vec<u8>>,
    down_datagrams: Conditioner<Vec<u8>>,
    up_stream: Conditioner<Vec<u8>>,
    up_datagrams: Conditioner<Vec<u8>>,
    has_datagrams: bool,
}

impl SimulatedNetwork {
    pub(crate) fn new(conditions: Conditions, transport: TransportKind, seed: u64, now: Instant) -> Self {
        let channel =
            |delivery, number| Conditioner::new(conditions, delivery, seed.wrapping_mul(4).wrapping_add(number));
        Self {
            start: now,
            down_stream: channel(Delivery::Stream, 0),
            down_datagrams: channel(Delivery::Datagrams, 1),
            up_stream: channel(Delivery::Stream, 2),
            up_datagrams: channel(Delivery::Datagrams, 3),
            has_datagrams: transport == TransportKind::WebTransport,
        }
    }

    /// Adds a frame from the server.
    pub(crate) fn push_down(&mut self, frame: &[u8], now: Instant) {
        let at = now.duration_since(self.start);
        let channel =
            if self.has_datagrams && is_unreliable(frame) { &mut self.down_datagrams } else { &mut self.down_stream };
        channel.push(at, frame.to_vec(), frame.len());
    }

    /// Adds a frame to the server.
    pub(crate) fn push_up(&mut self, path: DeliveryPath, frame: Vec<u8>, now: Instant) {
        let at = now.duration_since(self.start);
        let bytes = frame.len();
        let channel = match path {
            DeliveryPath::Unreliable if self.has_datagrams => &mut self.up_datagrams,
            _ => &mut self.up_stream,
        };
        channel.push(at, frame, bytes);
    }

    /// Next frame that has arrived at the bot.
    pub(crate) fn pop_down(&mut self, now: Instant) -> Option<Vec<u8>> {
        let at = now.duration_since(self.start);
        self.down_stream.pop(at).or_else(|| self.down_datagrams.pop(at))
    }

    /// Next frame to send to the server.
    pub(crate) fn pop_up(&mut self, now: Instant) -> Option<(DeliveryPath, Vec<u8>)> {
        let at = now.duration_since(self.start);
        let stream = self.up_stream.pop(at).map(|frame| (DeliveryPath::Reliable, frame));
        stream.or_else(|| self.up_datagrams.pop(at).map(|frame| (DeliveryPath::Unreliable, frame)))
    }
}

/// Returns true if a server sends this message as a datagram where available. The first byte of a frame identifies the
/// message, see `WIRE_FORMAT.md`.
fn is_unreliable(frame: &[u8]) -> bool {
    const SNAPSHOT: u8 = 2;
    const CORRECTION: u8 = 5;
    const PONG: u8 = 7;
    frame.first().is_some_and(|tag| [SNAPSHOT, CORRECTION, PONG].contains(&(tag >> 3)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aether_wire::{Pong, ServerMessage, encode_state_packet};

    #[test]
    fn frames_are_delayed_and_only_datagrams_are_lost() {
        let start = Instant::now();
        let conditions = Conditions { latency: Duration::from_millis(50), loss: 1.0, ..Conditions::PERFECT };
        let mut pong = Vec::new();
        ServerMessage::Pong(Pong::default()).encode(&mut pong).expect("the message can be encoded");
        for (transport, arrived) in [(TransportKind::WebSocket, 2), (TransportKind::WebTransport, 1)] {
            let mut network = SimulatedNetwork::new(conditions, transport, 1, start);
            network.push_up(DeliveryPath::Reliable, vec![1], start);
            network.push_up(DeliveryPath::Unreliable, vec![2], start);
            network.push_down(&pong, start);
            network.push_down(&[0x0A], start);
            assert!(network.pop_up(start + Duration::from_millis(49)).is_none());
            let end = start + Duration::from_secs(60);
            assert_eq!(std::iter::from_fn(|| network.pop_up(end)).count(), arrived);
            assert_eq!(std::iter::from_fn(|| network.pop_down(end)).count(), arrived);
        }
    }

    #[test]
    fn state_packets_are_recognized() {
        let mut frame = Vec::new();
        encode_state_packet(&[1, 2, 3], 0, &mut frame).expect("the message can be encoded");
        assert!(is_unreliable(&frame));
        let mut frame = Vec::new();
        ServerMessage::Schema(vec![1]).encode(&mut frame).expect("the message can be encoded");
        assert!(!is_unreliable(&frame));
    }
}
