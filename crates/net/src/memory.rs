//! In-memory transport, for tests and for bots in the same process.

use crate::transport::{CloseNotice, MessageSink, ReceiveOutcome, Transport, TransportEnded};
use aether_framing::FramingError;
use aether_replication::DeliveryOrder;
use aether_wire::limits::HELLO_BYTES_MAX;
use aether_wire::{ClientMessage, DecodeError, DeliveryPath, EncodeError, Encoding, ServerMessage};
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Most messages in transit, in each direction.
const QUEUE_MAX: usize = 256;

type PathMessage = (DeliveryPath, Vec<u8>);

/// Server's end of an in-memory connection.
pub struct MemoryTransport {
    order: DeliveryOrder,
    encoding: Encoding,
    incoming: Receiver<PathMessage>,
    outgoing: Sender<PathMessage>,
    /// Messages that wait for the client to read.
    queued: std::collections::VecDeque<PathMessage>,
    message_bytes_max: usize,
}

/// Client's end of an in-memory connection.
pub struct MemoryClient {
    encoding: Encoding,
    incoming: Receiver<PathMessage>,
    outgoing: Sender<PathMessage>,
}

/// Creates both ends of an in-memory connection.
#[must_use]
pub fn pair(order: DeliveryOrder, encoding: Encoding) -> (MemoryTransport, MemoryClient) {
    let (to_server, from_client) = channel(QUEUE_MAX);
    let (to_client, from_server) = channel(QUEUE_MAX);
    let server = MemoryTransport {
        order,
        encoding,
        incoming: from_client,
        outgoing: to_client,
        queued: std::collections::VecDeque::new(),
        message_bytes_max: HELLO_BYTES_MAX,
    };
    (server, MemoryClient { encoding, incoming: from_server, outgoing: to_server })
}

impl Transport for MemoryTransport {
    fn order(&self) -> DeliveryOrder {
        self.order
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
            let violation = FramingError::Oversized("the message is too large");
            return Poll::Ready(Err(TransportEnded::Violation(violation)));
        }
        take(path, ReceiveOutcome::Message(&message));
        Poll::Ready(Ok(()))
    }

    fn queue(&mut self, path: DeliveryPath, message: &[u8]) {
        self.queued.push_back((path, message.to_vec()));
    }

    fn poll_flush(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), TransportEnded>> {
        while let Some(message) = self.queued.pop_front() {
            match self.outgoing.try_send(message) {
                Ok(()) => {}
                Err(tokio::sync::mpsc::error::TrySendError::Closed(_)) => {
                    return Poll::Ready(Err(TransportEnded::Lost));
                }
                Err(tokio::sync::mpsc::error::TrySendError::Full(message)) => {
                    // No waker is registered: the driver's timer retries each second, which is enough for tests.
                    self.queued.push_front(message);
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

    fn queue_close(&mut self, _notice: &CloseNotice<'_>) {}

    fn poll_closed(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

impl MemoryClient {
    /// Sends a message.
    pub async fn send(&self, message: &ClientMessage) -> Result<(), EncodeError> {
        let mut bytes = Vec::new();
        self.encoding.encode_client(message, &mut bytes)?;
        self.send_bytes(bytes).await;
        Ok(())
    }

    /// Sends any bytes.
    pub async fn send_bytes(&self, bytes: Vec<u8>) {
        // Fails if the server has closed; `next` then returns none.
        let _ = self.outgoing.send((DeliveryPath::Reliable, bytes)).await;
    }

    /// Returns the next message; none if the server has closed.
    pub async fn next(&mut self) -> Option<Result<ServerMessage, DecodeError>> {
        let bytes = self.next_bytes().await?;
        Some(self.encoding.decode_server(&bytes))
    }

    /// Returns the bytes of the next message; none if the server has closed.
    pub async fn next_bytes(&mut self) -> Option<Vec<u8>> {
        self.incoming.recv().await.map(|(_, bytes)| bytes)
    }
}
