//! Opens connections to one server.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use aether_wire::{ClientMessage, Encoding, Hello, Token};
use tokio::sync::Mutex;

use crate::address::{ServerAddress, ServerAddressError};
use crate::connection::Connection;
use crate::error::ConnectionError;
use crate::stream::{self, Stream};
use crate::transport::{AnyTransport, TransportKind};
use crate::trust_store::TrustStore;
use crate::udp::UdpTransport;
use crate::websocket::WebSocketTransport;
use crate::webtransport::{WebTransportTarget, WebTransportTransport};

/// Longest time to open a connection.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(15);

/// Path of the WebSocket endpoint.
const REALTIME_PATH: &str = "/rt";

/// Opens connections to one server.
pub struct Connector {
    address: ServerAddress,
    path: String,
    encoding: Encoding,
    trust_store: TrustStore,
    is_allowed: fn(IpAddr) -> bool,
    /// Last known WebTransport target, with its socket.
    webtransport: Mutex<Option<Arc<WebTransportTarget>>>,
}

impl Connector {
    /// Creates a connector for protobuf connections.
    #[must_use]
    pub fn new(address: &ServerAddress) -> Self {
        Self {
            address: address.clone(),
            path: REALTIME_PATH.to_owned(),
            encoding: Encoding::Protobuf,
            trust_store: TrustStore::system(),
            is_allowed: |_| true,
            webtransport: Mutex::new(None),
        }
    }

    /// Sets the message encoding.
    #[must_use]
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = encoding;
        self
    }

    /// Sets the WebSocket path. Default `/rt`.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        self.path = path.to_owned();
        self
    }

    /// Sets the trusted authorities. Default: those of the system.
    #[must_use]
    pub fn trust_store(mut self, trust_store: TrustStore) -> Self {
        self.trust_store = trust_store;
        self
    }

    /// Restricts the IP addresses to connect to, including those that the server announces.
    #[must_use]
    pub fn address_filter(mut self, is_allowed: fn(IpAddr) -> bool) -> Self {
        self.is_allowed = is_allowed;
        self
    }

    /// Address of the server.
    #[must_use]
    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// Opens a connection and sends a hello. The server's first message is its answer.
    pub async fn connect(&self, transport: TransportKind, hello: &Hello) -> Result<Connection, ConnectionError> {
        let token = hello.resume_token.as_ref().or(hello.token.as_ref());
        let mut connection = self.open_for(transport, token).await?;
        connection.send(&ClientMessage::Hello(hello.clone())).await?;
        Ok(connection)
    }

    /// Opens a connection without sending a hello. UDP needs [`Connector::open_for`].
    pub async fn open(&self, kind: TransportKind) -> Result<Connection, ConnectionError> {
        self.open_for(kind, None).await
    }

    /// Opens a connection without sending a hello. UDP needs the token of the hello, an access token or a resume token;
    /// the other transports do not use it.
    pub async fn open_for(&self, kind: TransportKind, token: Option<&Token>) -> Result<Connection, ConnectionError> {
        let opening = async {
            match kind {
                TransportKind::WebSocket => self.open_websocket().await.map(AnyTransport::WebSocket),
                TransportKind::WebTransport => self.open_webtransport().await.map(AnyTransport::WebTransport),
                TransportKind::Udp => UdpTransport::open(self, token).await.map(Box::new).map(AnyTransport::Udp),
            }
        };
        let transport =
            tokio::time::timeout(CONNECT_TIME_MAX, opening).await.map_err(|_| ConnectionError::TimedOut)??;
        Ok(Connection::new(transport, self.encoding))
    }

    /// Opens a TCP or TLS stream to the server.
    pub(crate) async fn stream(&self) -> Result<Stream, ConnectionError> {
        let resolved = self.resolve(&self.address).await?;
        stream::open(&self.address, &resolved, || self.trust_store.https_config()).await
    }

    /// Resolves an address and applies the address filter.
    pub(crate) async fn resolve(&self, address: &ServerAddress) -> Result<Vec<SocketAddr>, ConnectionError> {
        let resolved = address.resolve().await?;
        match resolved.iter().all(|address| (self.is_allowed)(address.ip().to_canonical())) {
            true => Ok(resolved),
            false => Err(ServerAddressError::Forbidden(address.authority().to_owned()).into()),
        }
    }

    /// Waits until the close of all QUIC connections has been sent. QUIC sends it after `close`, and cannot once the
    /// runtime has ended.
    pub(crate) async fn wait_idle(&self) {
        if let Some(target) = self.known_target().await {
            target.wait_idle().await;
        }
    }

    pub(crate) fn message_encoding(&self) -> Encoding {
        self.encoding
    }

    pub(crate) fn trusted(&self) -> &TrustStore {
        &self.trust_store
    }

    async fn open_websocket(&self) -> Result<WebSocketTransport, ConnectionError> {
        WebSocketTransport::open(self.stream().await?, self.address.authority(), &self.path, self.encoding).await
    }

    /// Reuses the known target until it fails: a restarted server has another certificate.
    async fn open_webtransport(&self) -> Result<WebTransportTransport, ConnectionError> {
        if let Some(known) = self.known_target().await {
            match WebTransportTransport::open(&known, self.encoding).await {
                Ok(transport) => return Ok(transport),
                Err(_) => self.forget_target(&known).await,
            }
        }
        WebTransportTransport::open(&*self.target().await?, self.encoding).await
    }

    async fn known_target(&self) -> Option<Arc<WebTransportTarget>> {
        self.webtransport.lock().await.clone()
    }

    /// Finds the WebTransport target. Concurrent callers share one request.
    async fn target(&self) -> Result<Arc<WebTransportTarget>, ConnectionError> {
        let mut known = self.webtransport.lock().await;
        if let Some(target) = &*known {
            return Ok(Arc::clone(target));
        }
        Ok(Arc::clone(known.insert(Arc::new(WebTransportTarget::find(self).await?))))
    }

    async fn forget_target(&self, target: &Arc<WebTransportTarget>) {
        let mut known = self.webtransport.lock().await;
        if known.as_ref().is_some_and(|known| Arc::ptr_eq(known, target)) {
            *known = None;
        }
    }
}
