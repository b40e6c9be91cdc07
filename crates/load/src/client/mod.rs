//! One connection to a server, as a client sees it.
//!
//! ```no_run
//! # async fn example() -> Result<(), aether_load::client::ClientError> {
//! use aether_load::client::{Connector, Transport};
//! use aether_wire::{ClientMessage, Hello, RoomSelector};
//!
//! let connector = Connector::new(&"http://127.0.0.1:7350".parse()?);
//! let room = RoomSelector::Type { name: "sandbox".into(), label: None };
//! let hello = Hello { room: Some(room), ..Hello::default() };
//! let mut client = connector.connect(Transport::WebSocket, &hello).await?;
//! println!("{:?}", client.next_message().await?);
//! client.send(&ClientMessage::Leave).await?;
//! client.close().await;
//! # Ok(())
//! # }
//! ```

mod error;
mod websocket;
mod webtransport;

use std::collections::VecDeque;
use std::time::Duration;

use aether_net::Encoding;
use aether_wire::{ClientMessage, Hello, ServerMessage};
use tokio::sync::OnceCell;

use crate::address::Address;

pub use error::ClientError;
pub use websocket::WebSocketLink;
pub use webtransport::WebTransportLink;

/// A server that has not opened the connection in this time will not.
pub const CONNECT_DEADLINE: Duration = Duration::from_secs(15);

/// Bytes that may wait to be sent. A server that does not read for so long is stuck.
pub const QUEUED_BYTES_MAX: usize = 1 << 20;

/// Where the server takes WebSockets.
const REALTIME_PATH: &str = "/rt";

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// One ordered stream over TCP.
    WebSocket,
    /// A stream and datagrams over QUIC.
    WebTransport,
}

impl Transport {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::WebSocket => "websocket",
            Self::WebTransport => "webtransport",
        }
    }
}

/// Which way a message goes, where there are two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// In order and for sure.
    Reliable,
    /// As fast as can be.
    Unreliable,
}

impl Path {
    /// The way that a message goes, as `WIRE_FORMAT.md` says.
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

/// Opens connections to one server.
pub struct Connector {
    address: Address,
    path: String,
    encoding: Encoding,
    allow_remote: bool,
    webtransport: OnceCell<webtransport::Target>,
}

impl Connector {
    /// Connections that speak protobuf.
    pub fn new(address: &Address) -> Self {
        Self {
            address: address.clone(),
            path: REALTIME_PATH.to_owned(),
            encoding: Encoding::Protobuf,
            allow_remote: false,
            webtransport: OnceCell::new(),
        }
    }

    /// How the messages are written from now on.
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = encoding;
        self
    }

    /// Where WebSockets are opened, if not at `/rt`.
    pub fn path(mut self, path: &str) -> Self {
        self.path = path.to_owned();
        self
    }

    /// Whether the server may be on another machine.
    pub fn allow_remote(mut self, yes: bool) -> Self {
        self.allow_remote = yes;
        self
    }

    /// The server.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Opens a connection and says hello. The server's first message is its answer to that.
    pub async fn connect(&self, transport: Transport, hello: &Hello) -> Result<Client, ClientError> {
        let mut client = self.open(transport).await?;
        client.send(&ClientMessage::Hello(hello.clone())).await?;
        Ok(client)
    }

    /// Opens a connection and says nothing.
    pub async fn open(&self, transport: Transport) -> Result<Client, ClientError> {
        let opening = async {
            if !self.allow_remote {
                self.address.require_loopback().await?;
            }
            match transport {
                Transport::WebSocket => {
                    WebSocketLink::open(&self.address, &self.path, self.encoding).await.map(Link::WebSocket)
                }
                Transport::WebTransport => {
                    let target = || webtransport::Target::find(&self.address, self.allow_remote);
                    let target = self.webtransport.get_or_try_init(target).await?;
                    WebTransportLink::open(target, self.encoding).await.map(Link::WebTransport)
                }
            }
        };
        let link = tokio::time::timeout(CONNECT_DEADLINE, opening).await.map_err(|_| ClientError::TimedOut)??;
        Ok(Client { link, encoding: self.encoding, received: VecDeque::new(), ended: None, scratch: Vec::new() })
    }
}

/// One connection.
pub struct Client {
    link: Link,
    encoding: Encoding,
    /// Frames that came together with one that was handed out.
    received: VecDeque<Vec<u8>>,
    /// How the connection ended, while there are such frames.
    ended: Option<ClientError>,
    scratch: Vec<u8>,
}

enum Link {
    WebSocket(WebSocketLink),
    WebTransport(WebTransportLink),
}

impl Client {
    /// What carries it.
    pub fn transport(&self) -> Transport {
        match &self.link {
            Link::WebSocket(_) => Transport::WebSocket,
            Link::WebTransport(_) => Transport::WebTransport,
        }
    }

    /// The next message. It may be dropped and called again without losing anything.
    pub async fn next_message(&mut self) -> Result<ServerMessage, ClientError> {
        let frame = self.next_frame().await?;
        Ok(match self.encoding {
            Encoding::Protobuf => ServerMessage::decode(&frame)?,
            Encoding::Json => ServerMessage::decode_json(&frame)?,
        })
    }

    /// The bytes of the next message.
    pub async fn next_frame(&mut self) -> Result<Vec<u8>, ClientError> {
        loop {
            if let Some(frame) = self.received.pop_front() {
                return Ok(frame);
            }
            if let Some(error) = self.ended.take() {
                return Err(error);
            }
            let received = &mut self.received;
            let result = self.link.receive(&mut |frame| received.push_back(frame.to_vec())).await;
            // What came together with the end is handed out before it.
            self.ended = result.err();
        }
    }

    /// Waits for bytes, hands out every message in them where it lies, and meanwhile sends what
    /// is queued. It may be dropped and called again without losing anything.
    pub async fn receive(&mut self, take: &mut (dyn FnMut(&[u8]) + Send)) -> Result<(), ClientError> {
        while let Some(frame) = self.received.pop_front() {
            take(&frame);
        }
        match self.ended.take() {
            Some(error) => Err(error),
            None => self.link.receive(take).await,
        }
    }

    /// Sends a message by the path that it belongs to.
    pub async fn send(&mut self, message: &ClientMessage) -> Result<(), ClientError> {
        self.queue(message)?;
        self.flush().await
    }

    /// Sends any bytes as if they were a message.
    pub async fn send_frame(&mut self, path: Path, frame: &[u8]) -> Result<(), ClientError> {
        self.queue_frame(path, frame)?;
        self.flush().await
    }

    /// Sends any bytes as they are: into the TCP connection, or into the stream.
    pub async fn send_raw(&mut self, bytes: &[u8]) -> Result<(), ClientError> {
        self.link.out().extend_from_slice(bytes);
        self.flush().await
    }

    /// Sends a message as far as that is possible at once; the rest goes with
    /// [`Client::receive`] or [`Client::flush`].
    pub fn queue(&mut self, message: &ClientMessage) -> Result<(), ClientError> {
        let mut frame = std::mem::take(&mut self.scratch);
        frame.clear();
        match self.encoding {
            Encoding::Protobuf => message.encode(&mut frame)?,
            Encoding::Json => message.encode_json(&mut frame)?,
        }
        let result = self.queue_frame(Path::of(message), &frame);
        self.scratch = frame;
        result
    }

    /// Like [`Client::queue`], with any bytes.
    pub fn queue_frame(&mut self, path: Path, frame: &[u8]) -> Result<(), ClientError> {
        if self.link.out().len() > QUEUED_BYTES_MAX {
            return Err(ClientError::Stuck);
        }
        match &mut self.link {
            Link::WebSocket(link) => link.queue(self.encoding, frame),
            Link::WebTransport(link) => link.queue(path, frame),
        }
    }

    /// Waits until everything that is queued has been handed to the system.
    pub async fn flush(&mut self) -> Result<(), ClientError> {
        match &mut self.link {
            Link::WebSocket(link) => link.flush().await,
            Link::WebTransport(link) => link.flush().await,
        }
    }

    /// Ends the connection politely. To end it without a word, drop it.
    pub async fn close(self) {
        match self.link {
            Link::WebSocket(link) => link.close().await,
            Link::WebTransport(link) => link.close().await,
        }
    }
}

impl Link {
    async fn receive(&mut self, take: &mut (dyn FnMut(&[u8]) + Send)) -> Result<(), ClientError> {
        match self {
            Self::WebSocket(link) => link.receive(take).await,
            Self::WebTransport(link) => link.receive(take).await,
        }
    }

    fn out(&mut self) -> &mut Vec<u8> {
        match self {
            Self::WebSocket(link) => &mut link.out,
            Self::WebTransport(link) => &mut link.out,
        }
    }
}
