//! Settings of multicast.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

/// Settings of a multicast server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MulticastSettings {
    /// Group and port of discovery. Streams use the addresses after it.
    pub group: SocketAddrV4,
    /// Address of the network interface; `0.0.0.0` lets the system choose.
    pub interface: Ipv4Addr,
    /// Routers that a multicast packet may pass, plus one.
    pub ttl: u32,
    /// Time between two announcements; none if zero.
    pub announce_interval: Duration,
    /// Name of the server.
    pub name: String,
    /// Version of the server.
    pub version: String,
    /// Host name for connections. Empty: the address that answers come from.
    pub host: String,
    /// Port of the HTTP listener.
    pub http_port: u16,
    /// True if the HTTP listener uses TLS.
    pub is_secure: bool,
    /// Room types whose rooms can be watched.
    pub spectate: Vec<String>,
    /// Maximum number of streams.
    pub streams_max: u8,
}

impl MulticastSettings {
    /// Group of discovery.
    pub const GROUP: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 255, 73, 50), 7353);

    /// Returns the group of a stream, counted from 0: the addresses after that of discovery.
    #[must_use]
    pub fn stream_group(&self, number: u8) -> SocketAddrV4 {
        let address = self.group.ip().to_bits().saturating_add(1 + u32::from(number));
        SocketAddrV4::new(Ipv4Addr::from_bits(address), self.group.port())
    }

    /// Returns true if the groups of discovery and of all streams are multicast addresses.
    #[must_use]
    pub fn has_valid_groups(&self) -> bool {
        self.group.ip().is_multicast() && self.stream_group(self.streams_max).ip().is_multicast()
    }
}

impl Default for MulticastSettings {
    fn default() -> Self {
        MulticastSettings {
            group: Self::GROUP,
            interface: Ipv4Addr::UNSPECIFIED,
            ttl: 1,
            announce_interval: Duration::from_secs(5),
            name: String::new(),
            version: String::new(),
            host: String::new(),
            http_port: 0,
            is_secure: false,
            spectate: Vec::new(),
            streams_max: 4,
        }
    }
}
