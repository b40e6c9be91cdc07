//! Client side of one connection.

use std::collections::VecDeque;

use aether_wire::{ClientMessage, DeliveryPath, Encoding, ServerMessage};

use crate::error::ConnectionError;
use crate::transport::{AnyTransport, ClientTransport, TransportKind};
use crate::transport_stats::TransportStats;

/// Largest number of queued bytes. A server that leaves more unread is stuck.
pub const QUEUED_BYTES_MAX: usize = 1 << 20;

/// Connection to a server.
///
/// ```no_run
/// # async fn example() -> Result<(), aether_client_native::ConnectionError> {
/// use aether_client_native::{Connector, TransportKind};
/// use aether_wire::{ClientMessage, Hello, RoomSelector};
///
/// let connector = Connector::new(&"http://127.0.0.1:7350".parse()?);
/// let room = RoomSelector::Type { name: "sandbox".into(), label: None };
/// let hello = Hello { room: Some(room), token: Some(connector.guest_token().await?), ..Hello::default() };
/// let mut connection = connector.connect(TransportKind::WebSocket, &hello).await?;
/// println!("{:?}", connection.next_message().await?);
/// connection.send(&ClientMessage::Leave).await?;
/// connection.close().await;
/// # Ok(())
/// # }
/// ```
pub struct Connection {
    transport: AnyTransport,
    encoding: Encoding,
    /// Frames that arrived together with one that was returned.
    received: VecDeque<Vec<u8>>,
    /// Error that ended the connection, returned after these frames.
    ended: Option<ConnectionError>,
    scratch: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(transport: AnyTransport, encoding: Encoding) -> Self {
        Self { transport, encoding, received: VecDeque::new(), ended: None, scratch: Vec::new() }
    }

    /// Transport of the connection.
    #[must_use]
    pub fn transport(&self) -> TransportKind {
        self.transport.kind()
    }

    /// Statistics of the path, as the transport measures them. `None` if it does not.
    #[must_use]
    pub fn stats(&self) -> Option<TransportStats> {
        self.transport.stats()
    }

    /// The next message. It may be dropped and called again without losing anything.
    pub async fn next_message(&mut self) -> Result<ServerMessage, ConnectionError> {
        let frame = self.next_frame().await?;
        Ok(self.encoding.decode_server(&frame)?)
    }

    /// Waits for the next message and returns its bytes.
    pub async fn next_frame(&mut self) -> Result<Vec<u8>, ConnectionError> {
        loop {
            if let Some(frame) = self.received.pop_front() {
                return Ok(frame);
            }
            if let Some(error) = self.ended.take() {
                return Err(error);
            }
            let received = &mut self.received;
            let result = self.transport.receive(&mut |frame| received.push_back(frame.to_vec())).await;
            // Frames that arrived with the end are returned before it.
            self.ended = result.err();
        }
    }

    /// Waits for bytes and passes every message in them to `take`, without a copy. Sends queued messages meanwhile.
    /// Cancel safe.
    pub async fn receive(&mut self, take: &mut (dyn FnMut(&[u8]) + Send)) -> Result<(), ConnectionError> {
        while let Some(frame) = self.received.pop_front() {
            take(&frame);
        }
        match self.ended.take() {
            Some(error) => Err(error),
            None => self.transport.receive(take).await,
        }
    }

    /// Sends a message over its delivery path.
    pub async fn send(&mut self, message: &ClientMessage) -> Result<(), ConnectionError> {
        self.queue(message)?;
        self.flush().await
    }

    /// Sends any bytes as a message.
    pub async fn send_frame(&mut self, path: DeliveryPath, frame: &[u8]) -> Result<(), ConnectionError> {
        self.queue_frame(path, frame)?;
        self.flush().await
    }

    /// Sends raw bytes without framing: over the TCP connection, over the WebTransport stream, or as a UDP datagram.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        self.transport.outgoing().extend_from_slice(bytes);
        self.flush().await
    }

    /// Queues a message and sends as much as possible at once. [`Connection::receive`] and [`Connection::flush`] send
    /// the rest.
    pub fn queue(&mut self, message: &ClientMessage) -> Result<(), ConnectionError> {
        let mut frame = std::mem::take(&mut self.scratch);
        frame.clear();
        self.encoding.encode_client(message, &mut frame)?;
        let result = self.queue_frame(DeliveryPath::of(message), &frame);
        self.scratch = frame;
        result
    }

    /// Like [`Connection::queue`], for any bytes.
    pub fn queue_frame(&mut self, path: DeliveryPath, frame: &[u8]) -> Result<(), ConnectionError> {
        if self.transport.outgoing().len() > QUEUED_BYTES_MAX {
            return Err(ConnectionError::Stuck);
        }
        self.transport.queue(path, frame)
    }

    /// Waits until the operating system has accepted all queued bytes.
    pub async fn flush(&mut self) -> Result<(), ConnectionError> {
        self.transport.flush().await
    }

    /// Closes the connection with a close message. Dropping it closes without one.
    pub async fn close(self) {
        self.transport.close().await;
    }
}
