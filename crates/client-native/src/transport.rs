//! What a connection may be carried by. One more transport is one more value of [`TransportKind`], one more implementation of
//! [`ClientTransport`], and a line wherever the compiler then asks for one.

use aether_replication::DeliveryOrder;
use aether_wire::DeliveryPath;

use crate::error::ConnectionError;
use crate::websocket::WebSocketTransport;
use crate::webtransport::WebTransportTransport;

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransportKind {
    /// One ordered stream over TCP.
    WebSocket,
    /// A stream and datagrams over QUIC.
    WebTransport,
}

impl TransportKind {
    /// The best first: what does not wait for lost packets is better, and TCP gets through everywhere.
    pub(crate) const BY_PREFERENCE: [TransportKind; 2] = [TransportKind::WebTransport, TransportKind::WebSocket];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WebSocket => "websocket",
            Self::WebTransport => "webtransport",
        }
    }

    /// In which order state arrives over it.
    #[must_use]
    pub fn delivery_order(self) -> DeliveryOrder {
        match self {
            Self::WebSocket => DeliveryOrder::Ordered,
            Self::WebTransport => DeliveryOrder::Unordered,
        }
    }
}

/// Hands out a message where it lies.
pub(crate) type TakeMessage<'a> = &'a mut (dyn FnMut(&[u8]) + Send);

/// The client's end of one connection, whatever it is made of.
pub(crate) trait ClientTransport {
    /// Waits for bytes, hands out every message in them, and meanwhile sends what is queued. It may be dropped and called
    /// again without losing anything.
    fn receive(&mut self, take: TakeMessage<'_>) -> impl Future<Output = Result<(), ConnectionError>> + Send;

    /// Sends a message as far as that is possible at once. What has only one path takes all messages along it.
    fn queue(&mut self, path: DeliveryPath, frame: &[u8]) -> Result<(), ConnectionError>;

    /// What is queued and has not left yet, behind which raw bytes may be put.
    fn waiting(&mut self) -> &mut Vec<u8>;

    /// Waits until everything that is queued has been handed to the system.
    fn flush(&mut self) -> impl Future<Output = Result<(), ConnectionError>> + Send;

    /// Sends what is queued, and ends the connection politely.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// Any of the carriers.
pub(crate) enum AnyTransport {
    WebSocket(WebSocketTransport),
    WebTransport(WebTransportTransport),
}

impl AnyTransport {
    pub(crate) fn transport(&self) -> TransportKind {
        match self {
            Self::WebSocket(_) => TransportKind::WebSocket,
            Self::WebTransport(_) => TransportKind::WebTransport,
        }
    }
}

macro_rules! whichever {
    ($any:expr, $carrier:ident => $call:expr) => {
        match $any {
            AnyTransport::WebSocket($carrier) => $call,
            AnyTransport::WebTransport($carrier) => $call,
        }
    };
}

impl ClientTransport for AnyTransport {
    async fn receive(&mut self, take: TakeMessage<'_>) -> Result<(), ConnectionError> {
        whichever!(self, carrier => carrier.receive(take).await)
    }

    fn queue(&mut self, path: DeliveryPath, frame: &[u8]) -> Result<(), ConnectionError> {
        whichever!(self, carrier => carrier.queue(path, frame))
    }

    fn waiting(&mut self) -> &mut Vec<u8> {
        whichever!(self, carrier => carrier.waiting())
    }

    async fn flush(&mut self) -> Result<(), ConnectionError> {
        whichever!(self, carrier => carrier.flush().await)
    }

    async fn close(self) {
        whichever!(self, carrier => carrier.close().await);
    }
}
