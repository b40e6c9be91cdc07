//! Settings of a server.

use aether_rudp as rudp;

use crate::SocketOptions;

/// Settings of a [`UdpServer`](crate::UdpServer).
#[derive(Debug, Clone, Copy)]
pub struct UdpServerSettings {
    /// Settings of each connection.
    pub connection: rudp::Settings,
    /// Options of the socket.
    pub socket: SocketOptions,
    /// Largest number of connections. A client beyond it is closed with [`FULL_CODE`](crate::UdpServer::FULL_CODE).
    pub clients_max: usize,
    /// Bytes of received messages that may wait for [`receive`](crate::UdpServer::receive). Beyond it the server reads
    /// no datagrams until messages are taken.
    pub waiting_bytes_max: usize,
}

impl Default for UdpServerSettings {
    fn default() -> UdpServerSettings {
        UdpServerSettings {
            connection: rudp::Settings::default(),
            socket: SocketOptions::server(),
            clients_max: 65_536,
            waiting_bytes_max: 64 << 20,
        }
    }
}
