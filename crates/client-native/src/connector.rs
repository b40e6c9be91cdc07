//! Opens connections to one server.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use aether_wire::{ClientMessage, Encoding, Hello};
use tokio::sync::Mutex;

use crate::address::{ServerAddress, ServerAddressError};
use crate::connection::Connection;
use crate::error::ConnectionError;
use crate::stream::{self, Stream};
use crate::transport::{AnyTransport, TransportKind};
use crate::trust::TrustStore;
use crate::websocket::WebSocketTransport;
use crate::webtransport::{WebTransportTarget, WebTransportTransport};

/// A server that has not opened the connection in this time will not.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(15);

/// Where the server takes WebSockets.
const REALTIME_PATH: &str = "/rt";

/// Opens connections to one server.
pub struct Connector {
    address: ServerAddress,
    path: String,
    encoding: Encoding,
    trust: TrustStore,
    is_allowed: fn(IpAddr) -> bool,
    /// Where WebTransport was the last time, with the socket for it.
    webtransport: Mutex<Option<Arc<WebTransportTarget>>>,
}

impl Connector {
    /// Connections that speak protobuf.
    #[must_use]
    pub fn new(address: &ServerAddress) -> Self {
        Self {
            address: address.clone(),
            path: REALTIME_PATH.to_owned(),
            encoding: Encoding::Protobuf,
            trust: TrustStore::system(),
            is_allowed: |_| true,
            webtransport: Mutex::new(None),
        }
    }

    /// How the messages are written from now on.
    #[must_use]
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = encoding;
        self
    }

    /// Where WebSockets are opened, if not at `/rt`.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        self.path = path.to_owned();
        self
    }

    /// Whose certificates are believed, if not only those that the system trusts.
    #[must_use]
    pub fn trust_store(mut self, trust: TrustStore) -> Self {
        self.trust = trust;
        self
    }

    /// Refuses to connect to other addresses than these, also where the server names one.
    #[must_use]
    pub fn address_filter(mut self, is_allowed: fn(IpAddr) -> bool) -> Self {
        self.is_allowed = is_allowed;
        self
    }

    /// The server.
    #[must_use]
    pub fn address(&self) -> &ServerAddress {
        &self.address
    }

    /// Opens a connection and says hello. The server's first message is its answer to that.
    pub async fn connect(&self, transport: TransportKind, hello: &Hello) -> Result<Connection, ConnectionError> {
        let mut connection = self.open(transport).await?;
        connection.send(&ClientMessage::Hello(hello.clone())).await?;
        Ok(connection)
    }

    /// Opens a connection and says nothing.
    pub async fn open(&self, transport: TransportKind) -> Result<Connection, ConnectionError> {
        let opening = async {
            match transport {
                TransportKind::WebSocket => self.open_websocket().await.map(AnyTransport::WebSocket),
                TransportKind::WebTransport => self.open_webtransport().await.map(AnyTransport::WebTransport),
            }
        };
        let carrier =
            tokio::time::timeout(CONNECT_TIME_MAX, opening).await.map_err(|_| ConnectionError::TimedOut)??;
        Ok(Connection::new(carrier, self.encoding))
    }

    /// A stream to the server.
    pub(crate) async fn stream(&self) -> Result<Stream, ConnectionError> {
        let resolved = self.resolve(&self.address).await?;
        stream::open(&self.address, &resolved, || self.trust.https_config()).await
    }

    /// What is behind an address, if this connector may go there.
    pub(crate) async fn resolve(&self, address: &ServerAddress) -> Result<Vec<SocketAddr>, ConnectionError> {
        let resolved = address.resolve().await?;
        match resolved.iter().all(|address| (self.is_allowed)(address.ip().to_canonical())) {
            true => Ok(resolved),
            false => Err(ServerAddressError::Forbidden(address.authority().to_owned()).into()),
        }
    }

    /// Waits until the servers of all connections that were closed have been told: QUIC does that after the close, and
    /// cannot if the runtime ends before.
    pub(crate) async fn wait_idle(&self) {
        if let Some(target) = self.known_target().await {
            target.wait_idle().await;
        }
    }

    pub(crate) fn trust(&self) -> &TrustStore {
        &self.trust
    }

    async fn open_websocket(&self) -> Result<WebSocketTransport, ConnectionError> {
        WebSocketTransport::open(self.stream().await?, self.address.authority(), &self.path, self.encoding).await
    }

    /// A server that was started anew shows another certificate, so what was learned before is good until it fails.
    async fn open_webtransport(&self) -> Result<WebTransportTransport, ConnectionError> {
        if let Some(known) = self.known_target().await {
            match WebTransportTransport::open(&known, self.encoding).await {
                Ok(carrier) => return Ok(carrier),
                Err(_) => self.forget(&known).await,
            }
        }
        WebTransportTransport::open(&*self.target().await?, self.encoding).await
    }

    async fn known_target(&self) -> Option<Arc<WebTransportTarget>> {
        self.webtransport.lock().await.clone()
    }

    /// Where WebTransport is. All who want to know it at once ask once.
    async fn target(&self) -> Result<Arc<WebTransportTarget>, ConnectionError> {
        let mut known = self.webtransport.lock().await;
        if let Some(target) = &*known {
            return Ok(Arc::clone(target));
        }
        Ok(Arc::clone(known.insert(Arc::new(WebTransportTarget::find(self).await?))))
    }

    async fn forget(&self, target: &Arc<WebTransportTarget>) {
        let mut known = self.webtransport.lock().await;
        if known.as_ref().is_some_and(|known| Arc::ptr_eq(known, target)) {
            *known = None;
        }
    }
}
