//! Framing that many connections share.

use crate::stream;
use crate::websocket::codec::{self, Opcode};

/// A framing whose bytes depend on the message alone, so that a message is framed once for all connections with the
/// same framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Binary frames of a WebSocket server, without compression.
    WebSocketBinary,
    /// Messages on a stream, each after its length.
    Stream,
}

impl Framing {
    /// All framings. [`Framing::number`] is the index in this list.
    pub const ALL: [Framing; 2] = [Framing::WebSocketBinary, Framing::Stream];

    /// Index for tables with an entry for each framing.
    #[must_use]
    pub fn number(self) -> usize {
        self as usize
    }

    /// Appends a framed message.
    pub fn append(self, out: &mut Vec<u8>, message: &[u8]) {
        match self {
            Framing::WebSocketBinary => codec::frame_bytes(out, Opcode::Binary, message),
            Framing::Stream => stream::append(out, message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::websocket::codec::{Decoder, Incoming, Role};

    #[test]
    fn messages_framed_together_are_read_one_by_one() {
        let messages = [vec![1; 5], vec![2; 300], vec![3; 70_000]];
        for framing in Framing::ALL {
            let mut bytes = Vec::new();
            messages.iter().for_each(|message| framing.append(&mut bytes, message));
            let mut received = Vec::new();
            match framing {
                Framing::WebSocketBinary => Decoder::new(Role::Client, 100_000)
                    .feed(&mut bytes, &mut |incoming| match incoming {
                        Incoming::Binary(message) => received.push(message.to_vec()),
                        other => panic!("{other:?}"),
                    })
                    .unwrap(),
                Framing::Stream => {
                    stream::Decoder::new(100_000).feed(&bytes, &mut |message| received.push(message.to_vec())).unwrap();
                }
            }
            assert!(received == messages, "{framing:?}");
        }
    }

    #[test]
    fn numbers_are_indexes() {
        for (position, framing) in Framing::ALL.into_iter().enumerate() {
            assert_eq!(framing.number(), position);
        }
    }
}
