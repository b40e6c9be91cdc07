//! Settings of the local network.

use std::net::{Ipv4Addr, SocketAddrV4};

/// Multicast group of discovery and network interface. The group must be that of the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanSettings {
    /// Group and port of discovery. Default: 239.255.73.50:7353.
    pub group: SocketAddrV4,
    /// Address of the network interface. Default `0.0.0.0`: the system chooses.
    pub interface: Ipv4Addr,
}

impl Default for LanSettings {
    fn default() -> Self {
        let group = SocketAddrV4::new(Ipv4Addr::new(239, 255, 73, 50), 7353);
        Self { group, interface: Ipv4Addr::UNSPECIFIED }
    }
}
