//! One connection to a server, as a client sees it.

use std::collections::VecDeque;

use aether_wire::{ClientMessage, DeliveryPath, Encoding, ServerMessage};

use crate::error::ConnectionError;
use crate::transport::{AnyTransport, ClientTransport, TransportKind};

/// Bytes that may wait to be sent. A server that does not read for so long is stuck.
pub const QUEUED_BYTES_MAX: usize = 1 << 20;

/// One connection.
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
    carrier: AnyTransport,
    encoding: Encoding,
    /// Frames that came together with one that was handed out.
    received: VecDeque<Vec<u8>>,
    /// How the connection ended, while there are such frames.
    ended: Option<ConnectionError>,
    scratch: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(carrier: AnyTransport, encoding: Encoding) -> Self {
        Self { carrier, encoding, received: VecDeque::new(), ended: None, scratch: Vec::new() }
    }

    /// What carries it.
    #[must_use]
    pub fn transport(&self) -> TransportKind {
        self.carrier.transport()
    }

    /// The next message. It may be dropped and called again without losing anything.
    pub async fn next_message(&mut self) -> Result<ServerMessage, ConnectionError> {
        let frame = self.next_frame().await?;
        Ok(match self.encoding {
            Encoding::Protobuf => ServerMessage::decode(&frame)?,
            Encoding::Json => ServerMessage::decode_json(&frame)?,
        })
    }

    /// The bytes of the next message.
    pub async fn next_frame(&mut self) -> Result<Vec<u8>, ConnectionError> {
        loop {
            if let Some(frame) = self.received.pop_front() {
                return Ok(frame);
            }
            if let Some(error) = self.ended.take() {
                return Err(error);
            }
            let received = &mut self.received;
            let result = self.carrier.receive(&mut |frame| received.push_back(frame.to_vec())).await;
            // What came together with the end is handed out before it.
            self.ended = result.err();
        }
    }

    /// Waits for bytes, hands out every message in them where it lies, and meanwhile sends what
    /// is queued. It may be dropped and called again without losing anything.
    pub async fn receive(&mut self, take: &mut (dyn FnMut(&[u8]) + Send)) -> Result<(), ConnectionError> {
        while let Some(frame) = self.received.pop_front() {
            take(&frame);
        }
        match self.ended.take() {
            Some(error) => Err(error),
            None => self.carrier.receive(take).await,
        }
    }

    /// Sends a message by the path that it belongs to.
    pub async fn send(&mut self, message: &ClientMessage) -> Result<(), ConnectionError> {
        self.queue(message)?;
        self.flush().await
    }

    /// Sends any bytes as if they were a message.
    pub async fn send_frame(&mut self, path: DeliveryPath, frame: &[u8]) -> Result<(), ConnectionError> {
        self.queue_frame(path, frame)?;
        self.flush().await
    }

    /// Sends any bytes as they are: into the TCP connection, or into the stream.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        self.carrier.waiting().extend_from_slice(bytes);
        self.flush().await
    }

    /// Sends a message as far as that is possible at once; the rest goes with
    /// [`Connection::receive`] or [`Connection::flush`].
    pub fn queue(&mut self, message: &ClientMessage) -> Result<(), ConnectionError> {
        let mut frame = std::mem::take(&mut self.scratch);
        frame.clear();
        match self.encoding {
            Encoding::Protobuf => message.encode(&mut frame)?,
            Encoding::Json => message.encode_json(&mut frame)?,
        }
        let result = self.queue_frame(DeliveryPath::of(message), &frame);
        self.scratch = frame;
        result
    }

    /// Like [`Connection::queue`], with any bytes.
    pub fn queue_frame(&mut self, path: DeliveryPath, frame: &[u8]) -> Result<(), ConnectionError> {
        if self.carrier.waiting().len() > QUEUED_BYTES_MAX {
            return Err(ConnectionError::Stuck);
        }
        self.carrier.queue(path, frame)
    }

    /// Waits until everything that is queued has been handed to the system.
    pub async fn flush(&mut self) -> Result<(), ConnectionError> {
        self.carrier.flush().await
    }

    /// Ends the connection politely. To end it without a word, drop it.
    pub async fn close(self) {
        self.carrier.close().await;
    }
}
