//! Opens connections to one server.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use aether_wire::{ClientMessage, Encoding, Hello};
use tokio::sync::Mutex;

use crate::address::{Address, AddressError};
use crate::connection::Connection;
use crate::error::ConnectionError;
use crate::stream::{self, Stream};
use crate::transport::{AnyCarrier, Transport};
use crate::trust::Trust;
use crate::websocket::WebSocketCarrier;
use crate::webtransport::{Target, WebTransportCarrier};

/// A server that has not opened the connection in this time will not.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(15);

/// Where the server takes WebSockets.
const REALTIME_PATH: &str = "/rt";

/// Opens connections to one server.
pub struct Connector {
    address: Address,
    path: String,
    encoding: Encoding,
    trust: Trust,
    is_allowed: fn(IpAddr) -> bool,
    /// Where WebTransport was the last time, with the socket for it.
    webtransport: Mutex<Option<Arc<Target>>>,
}

impl Connector {
    /// Connections that speak protobuf.
    #[must_use]
    pub fn new(address: &Address) -> Self {
        Self {
            address: address.clone(),
            path: REALTIME_PATH.to_owned(),
            encoding: Encoding::Protobuf,
            trust: Trust::system(),
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
    pub fn trusting(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Refuses to connect to other addresses than these, also where the server names one.
    #[must_use]
    pub fn only_to(mut self, is_allowed: fn(IpAddr) -> bool) -> Self {
        self.is_allowed = is_allowed;
        self
    }

    /// The server.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Opens a connection and says hello. The server's first message is its answer to that.
    pub async fn connect(&self, transport: Transport, hello: &Hello) -> Result<Connection, ConnectionError> {
        let mut connection = self.open(transport).await?;
        connection.send(&ClientMessage::Hello(hello.clone())).await?;
        Ok(connection)
    }

    /// Opens a connection and says nothing.
    pub async fn open(&self, transport: Transport) -> Result<Connection, ConnectionError> {
        let opening = async {
            match transport {
                Transport::WebSocket => self.open_websocket().await.map(AnyCarrier::WebSocket),
                Transport::WebTransport => self.open_webtransport().await.map(AnyCarrier::WebTransport),
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
    pub(crate) async fn resolve(&self, address: &Address) -> Result<Vec<SocketAddr>, ConnectionError> {
        let resolved = address.resolve().await?;
        match resolved.iter().all(|address| (self.is_allowed)(address.ip().to_canonical())) {
            true => Ok(resolved),
            false => Err(AddressError::Forbidden(address.authority().to_owned()).into()),
        }
    }

    /// Waits until the servers of all connections that were closed have been told: QUIC does that after the close, and
    /// cannot if the runtime ends before.
    pub(crate) async fn wait_idle(&self) {
        if let Some(target) = self.known_target().await {
            target.wait_idle().await;
        }
    }

    pub(crate) fn trust(&self) -> &Trust {
        &self.trust
    }

    async fn open_websocket(&self) -> Result<WebSocketCarrier, ConnectionError> {
        WebSocketCarrier::open(self.stream().await?, self.address.authority(), &self.path, self.encoding).await
    }

    /// A server that was started anew shows another certificate, so what was learned before is good until it fails.
    async fn open_webtransport(&self) -> Result<WebTransportCarrier, ConnectionError> {
        if let Some(known) = self.known_target().await {
            match WebTransportCarrier::open(&known, self.encoding).await {
                Ok(carrier) => return Ok(carrier),
                Err(_) => self.forget(&known).await,
            }
        }
        WebTransportCarrier::open(&*self.target().await?, self.encoding).await
    }

    async fn known_target(&self) -> Option<Arc<Target>> {
        self.webtransport.lock().await.clone()
    }

    /// Where WebTransport is. All who want to know it at once ask once.
    async fn target(&self) -> Result<Arc<Target>, ConnectionError> {
        let mut known = self.webtransport.lock().await;
        if let Some(target) = &*known {
            return Ok(Arc::clone(target));
        }
        Ok(Arc::clone(known.insert(Arc::new(Target::find(self).await?))))
    }

    async fn forget(&self, target: &Arc<Target>) {
        let mut known = self.webtransport.lock().await;
        if known.as_ref().is_some_and(|known| Arc::ptr_eq(known, target)) {
            *known = None;
        }
    }
}
