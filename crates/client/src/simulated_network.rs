//! Simulated network between a client and a server.

use crate::{Conditioner, Conditions, Delivery};
use aether_replication::DeliveryOrder;
use aether_wire::DeliveryPath;
use std::time::Duration;

/// Simulated network around the connection of one client: a stream and, on an unordered transport, datagrams, in each
/// direction. The owner of the connection passes frames through it.
#[derive(Debug)]
pub struct SimulatedNetwork {
    down_stream: Conditioner<Vec<u8>>,
    down_datagrams: Conditioner<Vec<u8>>,
    up_stream: Conditioner<Vec<u8>>,
    up_datagrams: Conditioner<Vec<u8>>,
    has_datagrams: bool,
}

impl SimulatedNetwork {
    /// Returns an empty network for a new connection. The same seed treats the same frames in the same way.
    #[must_use]
    pub fn new(conditions: Conditions, order: DeliveryOrder, seed: u64) -> Self {
        let channel =
            |delivery, number| Conditioner::new(conditions, delivery, seed.wrapping_mul(4).wrapping_add(number));
        SimulatedNetwork {
            down_stream: channel(Delivery::Stream, 0),
            down_datagrams: channel(Delivery::Datagrams, 1),
            up_stream: channel(Delivery::Stream, 2),
            up_datagrams: channel(Delivery::Datagrams, 3),
            has_datagrams: order == DeliveryOrder::Unordered,
        }
    }

    /// Sets the conditions for frames from now on.
    pub fn set_conditions(&mut self, conditions: Conditions) {
        let SimulatedNetwork { down_stream, down_datagrams, up_stream, up_datagrams, .. } = self;
        for channel in [down_stream, down_datagrams, up_stream, up_datagrams] {
            channel.set_conditions(conditions);
        }
    }

    /// Adds a protobuf frame from the server.
    pub fn push_down(&mut self, frame: &[u8], now: Duration) {
        let channel =
            if self.has_datagrams && is_unreliable(frame) { &mut self.down_datagrams } else { &mut self.down_stream };
        channel.push(now, frame.to_vec(), frame.len());
    }

    /// Adds a frame to the server.
    pub fn push_up(&mut self, path: DeliveryPath, frame: Vec<u8>, now: Duration) {
        let bytes = frame.len();
        let channel = match path {
            DeliveryPath::Unreliable if self.has_datagrams => &mut self.up_datagrams,
            _ => &mut self.up_stream,
        };
        channel.push(now, frame, bytes);
    }

    /// Next frame that has arrived at the client.
    pub fn pop_down(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.down_stream.pop(now).or_else(|| self.down_datagrams.pop(now))
    }

    /// Next frame to send to the server, with its path.
    pub fn pop_up(&mut self, now: Duration) -> Option<(DeliveryPath, Vec<u8>)> {
        let stream = self.up_stream.pop(now).map(|frame| (DeliveryPath::Reliable, frame));
        stream.or_else(|| self.up_datagrams.pop(now).map(|frame| (DeliveryPath::Unreliable, frame)))
    }

    /// Bytes on their way to the client. With many of them, the owner stops reading, so that the server notices.
    #[must_use]
    pub fn bytes_down(&self) -> usize {
        self.down_stream.bytes_under_way() + self.down_datagrams.bytes_under_way()
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
        let conditions = Conditions { latency: Duration::from_millis(50), loss: 1.0, ..Conditions::PERFECT };
        let mut pong = Vec::new();
        ServerMessage::Pong(Pong::default()).encode(&mut pong).expect("the message can be encoded");
        for (order, arrived) in [(DeliveryOrder::Ordered, 2), (DeliveryOrder::Unordered, 1)] {
            let mut network = SimulatedNetwork::new(conditions, order, 1);
            network.push_up(DeliveryPath::Reliable, vec![1], Duration::ZERO);
            network.push_up(DeliveryPath::Unreliable, vec![2], Duration::ZERO);
            network.push_down(&pong, Duration::ZERO);
            network.push_down(&[0x0A], Duration::ZERO);
            assert!(network.pop_up(Duration::from_millis(49)).is_none() && network.bytes_down() > 0);
            let end = Duration::from_secs(60);
            assert_eq!(std::iter::from_fn(|| network.pop_up(end)).count(), arrived);
            assert_eq!(std::iter::from_fn(|| network.pop_down(end)).count(), arrived);
            assert_eq!(network.bytes_down(), 0);
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
