//! Gateway between the connections of a server and its rooms.

use crate::connections::{ConnectionPermit, ConnectionSettings, Connections};
use crate::lobby::{Lobby, SessionCheck, VerifiedAccount};
use crate::metrics::ConnectionMetrics;
use crate::protocol::Protocol;
use crate::protocol::room::{NewClient, RoomProtocol};
use crate::transport::Transport;
use aether_engine::Rejection;
use aether_wire::RoomSelector;
use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Serves connections of any transport.
pub struct Gateway {
    pub(crate) lobby: Arc<dyn Lobby>,
    pub(crate) connections: Connections,
}

/// A client with a connection, before its hello.
pub struct PendingClient {
    /// Address of the client, past any trusted proxy.
    pub address: IpAddr,
    /// True if the client is a program on this machine.
    pub is_local: bool,
    /// Room that the URL named, if any.
    pub room: Option<RoomSelector>,
    /// Account that the transport has authenticated, if it has: the hello must name the same one.
    pub account: Option<String>,
    /// Permit of the connection.
    pub permit: ConnectionPermit,
}

impl Gateway {
    /// Creates a gateway to the rooms of a lobby.
    #[must_use]
    pub fn new(lobby: Arc<dyn Lobby>, settings: ConnectionSettings, metrics: ConnectionMetrics) -> Arc<Gateway> {
        Arc::new(Gateway { lobby, connections: Connections::new(settings, metrics) })
    }

    /// Returns a permit for a new connection; none if the server or the address has reached its limit, or the server
    /// stops.
    #[must_use]
    pub fn permit(&self, address: IpAddr) -> Option<ConnectionPermit> {
        self.connections.permit(address)
    }

    /// Serves a connection to a room until it ends.
    pub async fn serve(self: Arc<Self>, transport: impl Transport, client: PendingClient) {
        let connection = self.connections.next_id();
        let PendingClient { address, is_local, room, account, permit } = client;
        let (encoding, order) = (transport.encoding(), transport.order());
        let transport_name = transport.name();
        let client =
            NewClient { connection, address, is_local, room, account, encoding, order, transport: transport_name };
        let protocol = RoomProtocol::new(&self, client);
        self.connections.serve(connection, transport, permit, protocol).await;
    }

    /// Serves a connection of another protocol, under the same limits, until it ends.
    pub async fn serve_protocol(
        self: Arc<Self>,
        transport: impl Transport,
        permit: ConnectionPermit,
        protocol: impl Protocol,
    ) {
        self.connections.serve(self.connections.next_id(), transport, permit, protocol).await;
    }

    /// Admits a connection of an account that joins no room, under the limits of the account. The result is kept until the
    /// connection ends.
    pub fn admit_account(&self, account: VerifiedAccount) -> Result<Box<dyn Any + Send>, Rejection> {
        self.lobby.admit_account(account)
    }

    /// Returns the session check.
    #[must_use]
    pub fn sessions(&self) -> &dyn SessionCheck {
        self.lobby.sessions()
    }

    /// Announces the stop of the server to all clients and rejects new connections.
    pub fn announce_stop(&self, grace: Duration) {
        self.connections.announce_stop(grace);
    }

    /// Announces a drain of this number to all clients, once; 0 for none. Connections stay open.
    pub fn announce_drain(&self, number: u32) {
        self.connections.announce_drain(number);
    }

    /// Number of open connections.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.connections.count()
    }

    /// Most bytes that a WebSocket reads at once.
    #[must_use]
    pub fn read_buffer_bytes(&self) -> usize {
        self.connections.settings.read_buffer_bytes
    }

    /// Time since the gateway was created.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.connections.now()
    }
}
