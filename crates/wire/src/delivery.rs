//! Delivery of messages: reliable or not.

use crate::ClientMessage;

/// Delivery path of a message, if the transport has two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryPath {
    /// The message arrives, once and in order.
    Reliable,
    /// The message may be lost, duplicated or reordered, if the transport has such a path.
    Unreliable,
}

impl DeliveryPath {
    /// Returns the path of a client's message, as listed in `WIRE_FORMAT.md`.
    #[must_use]
    pub fn of(message: &ClientMessage) -> Self {
        match message {
            ClientMessage::Inputs(_)
            | ClientMessage::Ack(_)
            | ClientMessage::Ping(_)
            | ClientMessage::Heartbeat
            | ClientMessage::MovementDelta(_) => Self::Unreliable,
            _ => Self::Reliable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientTime, Ping, Tick};

    #[test]
    fn only_messages_that_are_soon_outdated_are_unreliable() {
        let ping = ClientMessage::Ping(Ping { client_time: ClientTime(1), tick: Tick(1) });
        assert_eq!(DeliveryPath::of(&ping), DeliveryPath::Unreliable);
        assert_eq!(DeliveryPath::of(&ClientMessage::Heartbeat), DeliveryPath::Unreliable);
        assert_eq!(DeliveryPath::of(&ClientMessage::SchemaRequest), DeliveryPath::Reliable);
    }
}
