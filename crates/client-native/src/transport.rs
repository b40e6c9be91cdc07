//! What a connection may be carried by. One more transport is one more value of [`Transport`], one more implementation of
//! [`Carrier`], and a line wherever the compiler then asks for one.

use aether_replication::DeliveryOrder;
use aether_wire::DeliveryPath;

use crate::error::ConnectionError;
use crate::websocket::WebSocketCarrier;
use crate::webtransport::WebTransportCarrier;

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// One ordered stream over TCP.
    WebSocket,
    /// A stream and datagrams over QUIC.
    WebTransport,
}

impl Transport {
    /// The best first: what does not wait for lost packets is better, and TCP gets through everywhere.
    pub(crate) const BY_PREFERENCE: [Transport; 2] = [Transport::WebTransport, Transport::WebSocket];

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
    pub fn link(self) -> DeliveryOrder {
        match self {
            Self::WebSocket => DeliveryOrder::Ordered,
            Self::WebTransport => DeliveryOrder::Unordered,
        }
    }
}

/// Hands out a message where it lies.
pub(crate) type Take<'a> = &'a mut (dyn FnMut(&[u8]) + Send);

/// The client's end of one connection, whatever it is made of.
pub(crate) trait Carrier {
    /// Waits for bytes, hands out every message in them, and meanwhile sends what is queued. It may be dropped and called
    /// again without losing anything.
    fn receive(&mut self, take: Take<'_>) -> impl Future<Output = Result<(), ConnectionError>> + Send;

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
pub(crate) enum AnyCarrier {
    WebSocket(WebSocketCarrier),
    WebTransport(WebTransportCarrier),
}

impl AnyCarrier {
    pub(crate) fn transport(&self) -> Transport {
        match self {
            Self::WebSocket(_) => Transport::WebSocket,
            Self::WebTransport(_) => Transport::WebTransport,
        }
    }
}

macro_rules! whichever {
    ($any:expr, $carrier:ident => $call:expr) => {
        match $any {
            AnyCarrier::WebSocket($carrier) => $call,
            AnyCarrier::WebTransport($carrier) => $call,
        }
    };
}

impl Carrier for AnyCarrier {
    async fn receive(&mut self, take: Take<'_>) -> Result<(), ConnectionError> {
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
