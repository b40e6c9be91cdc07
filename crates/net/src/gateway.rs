//! Entry of all connections of a server to its rooms.

use crate::connections::{ConnectionPermit, ConnectionSettings, Connections};
use crate::counters::ConnectionMetrics;
use crate::lobby::Lobby;
use crate::protocol::Protocol;
use crate::protocol::room::RoomProtocol;
use crate::transport::Transport;
use aether_wire::RoomSelector;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Takes in connections, whatever their transport.
pub struct Gateway {
    pub(crate) lobby: Arc<dyn Lobby>,
    pub(crate) connections: Connections,
}

/// A client that has a connection but has not said hello yet.
pub struct PendingClient {
    /// Address of the client, past any trusted proxy.
    pub address: IpAddr,
    /// True if they surely are on this machine.
    pub is_local: bool,
    /// The room that the address named, if it did.
    pub room: Option<RoomSelector>,
    /// Their share of the limits.
    pub ticket: ConnectionPermit,
}

impl Gateway {
    /// A gateway to what the lobby knows.
    #[must_use]
    pub fn new(lobby: Arc<dyn Lobby>, settings: ConnectionSettings, counters: ConnectionMetrics) -> Arc<Gateway> {
        Arc::new(Gateway { lobby, connections: Connections::new(settings, counters) })
    }

    /// A share of the limits for a new connection; none if the server or the address has as many as it may.
    #[must_use]
    pub fn ticket(&self, address: IpAddr) -> Option<ConnectionPermit> {
        self.connections.ticket(address)
    }

    /// Serves a connection to a room until it ends.
    pub async fn serve(self: Arc<Self>, transport: impl Transport, visitor: PendingClient) {
        let id = self.connections.next_id();
        let PendingClient { address, is_local, room, ticket } = visitor;
        let protocol = RoomProtocol::new(&self, &transport, (id, address, is_local), room);
        self.connections.serve(id, transport, ticket, protocol).await;
    }

    /// Serves a connection that speaks another protocol, under the same limits, until it ends.
    pub async fn serve_protocol(
        self: Arc<Self>,
        transport: impl Transport,
        ticket: ConnectionPermit,
        protocol: impl Protocol,
    ) {
        self.connections.serve(self.connections.next_id(), transport, ticket, protocol).await;
    }

    /// Tells every client that the server will stop, and lets nobody in any more.
    pub fn announce_stop(&self, grace: Duration) {
        self.connections.announce_stop(grace);
    }

    /// Number of open connections.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.connections.count()
    }

    /// The time since the gateway was made.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.connections.now()
    }
}
