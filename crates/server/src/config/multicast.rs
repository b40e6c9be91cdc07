//! Settings of multicast on the local network.

use super::declare::section;
use super::{Config, ConfigProblem};
use aether_net::multicast::MulticastSettings;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

section! {
    /// Multicast on the local network.
    pub struct Multicast {
        /// Answers `aether find` and other searches on the local network, and announces the server there. Everybody on the
        /// network then sees its name, its address and its public rooms.
        enabled: bool = false;
        /// IPv4 multicast group and port of discovery. The streams of rooms use the addresses after it.
        group: SocketAddr = SocketAddr::V4(MulticastSettings::GROUP);
        /// Address of the network interface. `0.0.0.0` lets the system choose: the interface of the default route.
        interface: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
        /// Routers that a multicast packet may pass, plus one. More than 1 needs routers that forward multicast.
        ttl: u32 = 1, within 1..=32;
        /// Name of the server in searches. Default: the name of the program.
        name: Option<String> = None;
        /// Host name by which clients connect, for a certificate of that name. Default: the address that answers come from.
        host: Option<String> = None;
        /// Time between two announcements; 0 means none. Searches are answered all the same.
        announce_seconds: u32 = 5, within 0..=3600;
        /// Room types whose public rooms everybody on the network may watch, such as `["asteroids"]`. A room is streamed
        /// while somebody watches, once for all viewers: what all players may see.
        spectate: Vec<String> = Vec::new();
        /// Maximum number of rooms that are streamed at once. Each costs as much as a player who sees the whole room.
        streams_max: u32 = 4, within 1..=64;
    }
}

impl Config {
    /// Returns the settings of multicast for a program and its HTTP port.
    pub(crate) fn multicast_settings(&self, program: (&str, &str), http_port: u16) -> MulticastSettings {
        let multicast = &self.multicast;
        let (name, version) = program;
        MulticastSettings {
            group: self.multicast_group().unwrap_or(MulticastSettings::GROUP),
            interface: multicast.interface,
            ttl: multicast.ttl,
            announce_interval: Duration::from_secs(multicast.announce_seconds.into()),
            name: multicast.name.clone().unwrap_or_else(|| name.to_owned()),
            version: version.to_owned(),
            host: multicast.host.clone().unwrap_or_default(),
            http_port,
            is_secure: self.http.tls_certificate.is_some(),
            spectate: multicast.spectate.clone(),
            streams_max: u8::try_from(multicast.streams_max).unwrap_or(u8::MAX),
        }
    }

    /// Returns the group of discovery; none if it is no IPv4 address.
    pub(crate) fn multicast_group(&self) -> Option<SocketAddrV4> {
        match self.multicast.group {
            SocketAddr::V4(group) => Some(group),
            SocketAddr::V6(_) => None,
        }
    }

    pub(super) fn validate_multicast(&self, problems: &mut Vec<ConfigProblem>) {
        let settings = self.multicast_settings(("", ""), 0);
        if self.multicast_group().is_none() || !settings.has_valid_groups() || settings.group.port() == 0 {
            problems.push(self.problem(
                "multicast.group",
                "multicast.group must be an IPv4 multicast address with a port, such as 239.255.73.50:7353.",
            ));
        }
    }
}
