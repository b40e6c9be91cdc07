//! Senders of requests, past any trusted proxy.

use http::{HeaderMap, header};
use std::net::{IpAddr, SocketAddr};

/// Address of the socket of a request. The listener adds it to each request.
#[derive(Clone, Copy, Debug)]
pub struct PeerAddress {
    /// Remote address of the socket.
    pub socket: SocketAddr,
    /// True for an HTTP/1.0 request: no browser sends one, but many proxies do.
    pub is_http10: bool,
}

/// Headers that proxies add.
const PROXY_HEADERS: [&str; 8] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
    "cf-connecting-ip",
    "true-client-ip",
];

/// Sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestPeer {
    /// Address of the client, past any trusted proxy.
    pub address: IpAddr,
    /// True if the request came from a program on this machine and used one of its local names. False for a request with
    /// headers of a proxy, and for one that a foreign page sent to a foreign name that resolves to this machine.
    ///
    /// It grants no rights by itself: a tunnel or a proxy without headers is a program on this machine too.
    pub is_local: bool,
}

/// Proxies whose forwarding headers are trusted.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies {
    networks: Vec<(IpAddr, u8)>,
}

impl TrustedProxies {
    /// Trusts proxies by network: an address and its prefix length in bits.
    #[must_use]
    pub fn new(networks: Vec<(IpAddr, u8)>) -> TrustedProxies {
        TrustedProxies { networks }
    }

    /// Returns true if an address belongs to a trusted proxy.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|(network, bits)| shares_prefix(*network, address, *bits))
    }

    /// Returns the sender of a request that arrived on this socket.
    #[must_use]
    pub fn peer(&self, socket: IpAddr, headers: &HeaderMap) -> RequestPeer {
        let forwarded = PROXY_HEADERS.iter().any(|name| headers.contains_key(*name));
        let address = if self.contains(socket) { self.forwarded_for(headers).unwrap_or(socket) } else { socket };
        let is_local = socket.is_loopback() && address.is_loopback() && !forwarded && names_this_machine(headers);
        RequestPeer { address, is_local }
    }

    /// Returns the last forwarded address that is not a trusted proxy. Earlier ones may be forged.
    fn forwarded_for(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let values = headers.get_all("x-forwarded-for").iter().rev();
        let hops = values.flat_map(|value| value.to_str().unwrap_or("").rsplit(','));
        let mut addresses = hops.map(|hop| address_of(hop.trim()));
        addresses.find(|hop| hop.is_none_or(|address| !self.contains(address))).flatten()
    }
}

fn address_of(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.split(']').next()).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip()))
}

/// Returns true if an address is in a network with a prefix of `bits`. An IPv4-mapped IPv6 address counts as IPv4.
#[must_use]
pub fn shares_prefix(network: IpAddr, address: IpAddr, bits: u8) -> bool {
    match (network, address.to_canonical()) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            let rest = 32_u32.saturating_sub(u32::from(bits));
            (network.to_bits() ^ address.to_bits()).checked_shr(rest).unwrap_or(0) == 0
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            let rest = 128_u32.saturating_sub(u32::from(bits));
            (network.to_bits() ^ address.to_bits()).checked_shr(rest).unwrap_or(0) == 0
        }
        _ => false,
    }
}

fn names_this_machine(headers: &HeaderMap) -> bool {
    headers.get(header::HOST).and_then(|host| host.to_str().ok()).is_some_and(is_local_name)
}

/// Returns a host without its port. An IPv6 address keeps its brackets.
pub(crate) fn host_name(host: &str) -> &str {
    match host.find(']') {
        Some(end) => &host[..=end],
        None => host.split(':').next().unwrap_or(""),
    }
}

/// Returns true if a host, with or without a port, is a name or address of loopback.
#[must_use]
pub fn is_local_name(host: &str) -> bool {
    let name = host_name(host).trim_matches(['[', ']']);
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn forwarding_headers_are_ignored_by_default() {
        let peer = TrustedProxies::default().peer(address("9.9.9.9"), &headers(&[("x-forwarded-for", "1.2.3.4")]));
        assert_eq!(peer.address, address("9.9.9.9"));
    }

    #[test]
    fn only_the_last_hop_of_a_trusted_proxy_counts() {
        let proxies = TrustedProxies::new(vec![(address("10.0.0.0"), 8)]);
        let forged = headers(&[("x-forwarded-for", "127.0.0.1, 6.6.6.6, 5.5.5.5, 10.1.1.1")]);
        assert_eq!(proxies.peer(address("10.0.0.7"), &forged).address, address("5.5.5.5"));
        let nonsense = headers(&[("x-forwarded-for", "1.1.1.1, ???")]);
        assert_eq!(proxies.peer(address("10.0.0.7"), &nonsense).address, address("10.0.0.7"));
        let six = headers(&[("x-forwarded-for", "[2001:db8::1]:443")]);
        assert_eq!(proxies.peer(address("10.0.0.7"), &six).address, address("2001:db8::1"));
    }

    #[test]
    fn only_a_plain_request_by_a_local_name_is_local() {
        let proxies = TrustedProxies::default();
        for host in ["localhost:7350", "127.0.0.1:7350", "[::1]:7350", "localhost"] {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            assert!(proxies.peer(HERE, &headers).is_local, "{host}");
        }
        for host in ["rebound.example:7350", "127.0.0.1.example", ""] {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            assert!(!proxies.peer(HERE, &headers).is_local, "{host}");
        }
        assert!(!proxies.peer(HERE, &headers(&[("host", "localhost"), ("x-forwarded-for", "1.2.3.4")])).is_local);
        assert!(!proxies.peer(HERE, &headers(&[("host", "localhost"), ("forwarded", "for=1.2.3.4")])).is_local);
        assert!(!proxies.peer(address("192.168.0.4"), &headers(&[("host", "localhost")])).is_local);
    }

    #[test]
    fn networks_end_where_they_say() {
        let proxies = TrustedProxies::new(vec![(address("10.1.0.0"), 16), (address("2001:db8::"), 32), (HERE, 32)]);
        for inside in ["10.1.255.255", "2001:db8:ffff::1", "127.0.0.1", "::ffff:10.1.0.1"] {
            assert!(proxies.contains(address(inside)), "{inside}");
        }
        for outside in ["10.2.0.0", "2001:db9::1", "127.0.0.2"] {
            assert!(!proxies.contains(address(outside)), "{outside}");
        }
        assert!(TrustedProxies::new(vec![(HERE, 0)]).contains(address("8.8.8.8")));
    }
}
