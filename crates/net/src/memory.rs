//! A transport in memory, for tests and for bots in the same process.

use crate::transport::{CloseNotice, MessageSink, ReceiveOutcome, Transport, TransportEnded};
use aether_framing::FramingError;
use aether_replication::DeliveryOrder;
use aether_wire::limits::HELLO_BYTES_MAX;
use aether_wire::{ClientMessage, DecodeError, DeliveryPath, EncodeError, Encoding, ServerMessage};
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Messages on their way, in each direction.
const QUEUE_MAX: usize = 256;

type Parcel = (DeliveryPath, Vec<u8>);

/// The server's end.
pub struct MemoryTransport {
    link: DeliveryOrder,
    encoding: Encoding,
    incoming: Receiver<Parcel>,
    outgoing: Sender<Parcel>,
    /// Messages that wait because the client does not read.
    queued: std::collections::VecDeque<Parcel>,
    message_bytes_max: usize,
}

/// The client's end.
pub struct MemoryClient {
    encoding: Encoding,
    incoming: Receiver<Parcel>,
    outgoing: Sender<Parcel>,
}

/// Two ends of a link.
#[must_use]
pub fn pair(link: DeliveryOrder, encoding: Encoding) -> (MemoryTransport, MemoryClient) {
    let (to_server, from_client) = channel(QUEUE_MAX);
    let (to_client, from_server) = channel(QUEUE_MAX);
    let server = MemoryTransport {
        link,
        encoding,
        incoming: from_client,
        outgoing: to_client,
        queued: std::collections::VecDeque::new(),
        message_bytes_max: HELLO_BYTES_MAX,
    };
    (server, MemoryClient { encoding, incoming: from_server, outgoing: to_server })
}

impl Transport for MemoryTransport {
    fn link(&self) -> DeliveryOrder {
        self.link
    }

    fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn name(&self) -> &'static str {
        "memory"
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>, take: MessageSink<'_>) -> Poll<Result<(), TransportEnded>> {
        let Some((path, message)) = ready!(self.incoming.poll_recv(cx)) else {
            return Poll::Ready(Err(TransportEnded::Closed));
        };
        if message.len() > self.message_bytes_max {
            let violation = FramingError::Oversized("a message is too large");
            return Poll::Ready(Err(TransportEnded::Violation(violation)));
        }
        take(path, ReceiveOutcome::Message(&message));
        Poll::Ready(Ok(()))
    }

    fn queue(&mut self, path: DeliveryPath, message: &[u8]) {
        self.queued.push_back((path, message.to_vec()));
    }

    fn poll_flush(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), TransportEnded>> {
        while let Some(parcel) = self.queued.pop_front() {
            match self.outgoing.try_send(parcel) {
                Ok(()) => {}
                Err(tokio::sync::mpsc::error::TrySendError::Closed(_)) => {
                    return Poll::Ready(Err(TransportEnded::Lost));
                }
                Err(tokio::sync::mpsc::error::TrySendError::Full(parcel)) => {
                    // The connection's own second brings it here again: a client in memory that does not read is a test.
                    self.queued.push_front(parcel);
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    fn backlog_bytes(&self) -> usize {
        self.queued.iter().map(|(_, message)| message.len()).sum()
    }

    fn set_message_bytes_max(&mut self, bytes: usize) {
        self.message_bytes_max = bytes;
    }

    fn queue_probe(&mut self) {}

    fn queue_close(&mut self, _goodbye: &CloseNotice<'_>) {}

    fn poll_closed(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

impl MemoryClient {
    /// Sends a message.
    pub async fn send(&self, message: &ClientMessage) -> Result<(), EncodeError> {
        let mut bytes = Vec::new();
        match self.encoding {
            Encoding::Protobuf => message.encode(&mut bytes)?,
            Encoding::Json => message.encode_json(&mut bytes)?,
        }
        self.send_bytes(bytes).await;
        Ok(())
    }

    /// Sends bytes that may be no message at all.
    pub async fn send_bytes(&self, bytes: Vec<u8>) {
        // The server may have closed; the next message it does not send tells.
        let _ = self.outgoing.send((DeliveryPath::Reliable, bytes)).await;
    }

    /// The next message; nothing when the server closed.
    pub async fn next(&mut self) -> Option<Result<ServerMessage, DecodeError>> {
        let bytes = self.next_bytes().await?;
        Some(match self.encoding {
            Encoding::Protobuf => ServerMessage::decode(&bytes),
            Encoding::Json => ServerMessage::decode_json(&bytes),
        })
    }

    /// The bytes of the next message; nothing when the server closed.
    pub async fn next_bytes(&mut self) -> Option<Vec<u8>> {
        self.incoming.recv().await.map(|(_, bytes)| bytes)
    }
}
