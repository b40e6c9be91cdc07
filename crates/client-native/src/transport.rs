//! Transports of a connection. A new transport needs a variant of [`TransportKind`], an implementation of
//! [`ClientTransport`], and the match arms that the compiler then asks for.

use aether_replication::DeliveryOrder;
use aether_wire::DeliveryPath;

use crate::error::ConnectionError;
use crate::transport_stats::TransportStats;
use crate::udp::UdpTransport;
use crate::websocket::WebSocketTransport;
use crate::webtransport::WebTransportTransport;

/// Kind of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransportKind {
    /// One ordered stream over TCP.
    WebSocket,
    /// A stream and datagrams over QUIC.
    WebTransport,
    /// Reliable UDP: channels over one socket.
    Udp,
}

impl TransportKind {
    /// Best first: UDP and WebTransport do not wait for lost packets, UDP has the least overhead, and WebSocket works in
    /// every network.
    pub(crate) const BY_PREFERENCE: [TransportKind; 3] =
        [TransportKind::Udp, TransportKind::WebTransport, TransportKind::WebSocket];

    /// Name of the transport.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WebSocket => "websocket",
            Self::WebTransport => "webtransport",
            Self::Udp => "udp",
        }
    }

    /// Returns the transport of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::BY_PREFERENCE.into_iter().find(|kind| kind.name() == name)
    }

    /// Delivery order of state packets.
    #[must_use]
    pub fn delivery_order(self) -> DeliveryOrder {
        match self {
            Self::WebSocket => DeliveryOrder::Ordered,
            Self::WebTransport | Self::Udp => DeliveryOrder::Unordered,
        }
    }
}

/// Receives a message without a copy.
pub(crate) type TakeMessage<'a> = &'a mut (dyn FnMut(&[u8]) + Send);

/// Client side of a transport connection.
pub(crate) trait ClientTransport {
    /// Waits for bytes and passes every message in them to `take`. Sends queued messages meanwhile. Cancel safe.
    fn receive(&mut self, take: TakeMessage<'_>) -> impl Future<Output = Result<(), ConnectionError>> + Send;

    /// Queues a message and sends as much as possible at once. A transport with one path ignores `path`.
    fn queue(&mut self, path: DeliveryPath, frame: &[u8]) -> Result<(), ConnectionError>;

    /// Buffer of queued bytes. Raw bytes can be appended.
    fn outgoing(&mut self) -> &mut Vec<u8>;

    /// Waits until the operating system has accepted all queued bytes.
    fn flush(&mut self) -> impl Future<Output = Result<(), ConnectionError>> + Send;

    /// Sends queued bytes and closes the connection.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// Any transport.
pub(crate) enum AnyTransport {
    WebSocket(WebSocketTransport),
    WebTransport(WebTransportTransport),
    Udp(Box<UdpTransport>),
}

impl AnyTransport {
    pub(crate) fn kind(&self) -> TransportKind {
        match self {
            Self::WebSocket(_) => TransportKind::WebSocket,
            Self::WebTransport(_) => TransportKind::WebTransport,
            Self::Udp(_) => TransportKind::Udp,
        }
    }

    /// Statistics of the path. `None` if the transport has none.
    pub(crate) fn stats(&self) -> Option<TransportStats> {
        match self {
            Self::WebSocket(_) | Self::WebTransport(_) => None,
            Self::Udp(transport) => transport.stats(),
        }
    }
}

macro_rules! for_each_transport {
    ($any:expr, $transport:ident => $call:expr) => {
        match $any {
            AnyTransport::WebSocket($transport) => $call,
            AnyTransport::WebTransport($transport) => $call,
            AnyTransport::Udp($transport) => $call,
        }
    };
}

impl ClientTransport for AnyTransport {
    async fn receive(&mut self, take: TakeMessage<'_>) -> Result<(), ConnectionError> {
        for_each_transport!(self, transport => transport.receive(take).await)
    }

    fn queue(&mut self, path: DeliveryPath, frame: &[u8]) -> Result<(), ConnectionError> {
        for_each_transport!(self, transport => transport.queue(path, frame))
    }

    fn outgoing(&mut self) -> &mut Vec<u8> {
        for_each_transport!(self, transport => transport.outgoing())
    }

    async fn flush(&mut self) -> Result<(), ConnectionError> {
        for_each_transport!(self, transport => transport.flush().await)
    }

    async fn close(self) {
        for_each_transport!(self, transport => transport.close().await);
    }
}
