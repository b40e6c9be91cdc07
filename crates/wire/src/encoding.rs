//! Encodings of messages.

use crate::{ClientMessage, DecodeError, EncodeError, SUBPROTOCOL_JSON, SUBPROTOCOL_PROTOBUF, ServerMessage};

/// Encoding of the messages of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Protobuf: compact and fast.
    Protobuf,
    /// JSON: for people and simple clients.
    Json,
}

impl Encoding {
    /// WebSocket subprotocols of all encodings.
    pub const SUBPROTOCOLS: [&str; 2] = [SUBPROTOCOL_PROTOBUF, SUBPROTOCOL_JSON];

    /// WebSocket subprotocol of the encoding.
    #[must_use]
    pub fn subprotocol(self) -> &'static str {
        match self {
            Encoding::Protobuf => SUBPROTOCOL_PROTOBUF,
            Encoding::Json => SUBPROTOCOL_JSON,
        }
    }

    /// Returns the encoding of a WebSocket subprotocol.
    #[must_use]
    pub fn of_subprotocol(name: &str) -> Option<Encoding> {
        [Encoding::Protobuf, Encoding::Json].into_iter().find(|encoding| encoding.subprotocol() == name)
    }

    /// Decodes a message of a client.
    pub fn decode(self, bytes: &[u8]) -> Result<ClientMessage, DecodeError> {
        match self {
            Encoding::Protobuf => ClientMessage::decode(bytes),
            Encoding::Json => ClientMessage::decode_json(bytes),
        }
    }

    /// Appends a message to a client.
    pub fn encode(self, message: &ServerMessage, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Encoding::Protobuf => message.encode(out),
            Encoding::Json => message.encode_json(out),
        }
    }
}
