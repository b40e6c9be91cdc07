//! Public and private IP networks.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// IP network, such as `10.0.0.0/8`. An address alone is a network of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

/// Error for text that is not a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkError(String);

/// IPv4 networks that are not public: this network, private, carrier-grade NAT, loopback, link-local, protocol
/// assignments, documentation, relays, benchmarks, multicast, and the rest up to broadcast.
const NOT_PUBLIC_V4: [(Ipv4Addr, u8); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// Non-public networks within 2000::/3, outside of which nothing is public: protocol assignments with Teredo,
/// documentation twice.
const NOT_PUBLIC_V6: [(Ipv6Addr, u8); 3] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Returns true if an address is reachable on the public internet. An IPv6 address that embeds an IPv4 address is
/// judged by the latter.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => is_public_v4(inner),
            None => {
                within_v6(address, (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3))
                    && !NOT_PUBLIC_V6.iter().any(|network| within_v6(address, *network))
            }
        },
    }
}

impl Network {
    /// Returns true if the network contains the address. An IPv4-mapped IPv6 address counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => within_v4(address, (network, self.bits)),
            (IpAddr::V6(network), IpAddr::V6(address)) => within_v6(address, (network, self.bits)),
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Network, NetworkError> {
        let wrong = || NetworkError(text.to_owned());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let address = address.parse::<IpAddr>().map_err(|_| wrong())?.to_canonical();
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits > most { Err(wrong()) } else { Ok(Network { address, bits }) }
    }
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a network; write it as 10.0.0.0/8 or fd00::/8", self.0)
    }
}

impl std::error::Error for NetworkError {}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !NOT_PUBLIC_V4.iter().any(|network| within_v4(address, *network))
}

/// Returns the IPv4 address embedded in an IPv6 address: mapped, compatible, translated (64:ff9b::/96) or 6to4.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let [high, low] = match segments {
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => [high, low],
        [0x2002, high, low, ..] => [high, low],
        _ => return None,
    };
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    Some(Ipv4Addr::new(a, b, c, d))
}

fn within_v4(address: Ipv4Addr, (network, bits): (Ipv4Addr, u8)) -> bool {
    let rest = 32 - u32::from(bits);
    (address.to_bits() ^ network.to_bits()).checked_shr(rest).unwrap_or(0) == 0
}

fn within_v6(address: Ipv6Addr, (network, bits): (Ipv6Addr, u8)) -> bool {
    let rest = 128 - u32::from(bits);
    (address.to_bits() ^ network.to_bits()).checked_shr(rest).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(address: &str) -> bool {
        is_public(address.parse().expect("it is an address"))
    }

    #[test]
    fn private_addresses_are_not_public() {
        let addresses = "0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 127.255.255.255 169.254.169.254 172.16.0.1
            172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.1
            203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
            :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 64:ff9b::7f00:1 64:ff9b::a00:1
            64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1:: 2002:a00:1::1 3fff::1 fc00::1 fd12::1 fe80::1 fec0::1
            ff02::1 4000::1";
        for address in addresses.split_whitespace() {
            assert!(!public(address), "{address}");
        }
    }

    #[test]
    fn public_addresses_are_public() {
        let addresses = "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0
            192.167.255.255 198.17.255.255 198.20.0.0 223.255.255.255 ::ffff:1.1.1.1 64:ff9b::101:101 2002:101:101::
            2001:4860:4860::8888 2606:4700::1111 2a00::1";
        for address in addresses.split_whitespace() {
            assert!(public(address), "{address}");
        }
    }

    #[test]
    fn a_network_contains_addresses_that_share_its_prefix() {
        let network: Network = "10.1.0.0/16".parse().expect("it is a network");
        for (address, inside) in [("10.1.2.3", true), ("10.2.0.0", false), ("::ffff:10.1.0.1", true), ("::1", false)] {
            assert_eq!(network.contains(address.parse().expect("it is an address")), inside, "{address}");
        }
        let everything: Network = "0.0.0.0/0".parse().expect("it is a network");
        assert!(everything.contains("8.8.8.8".parse().expect("it is an address")));
        let one: Network = "fd00::1".parse().expect("it is a network");
        assert!(one.contains("fd00::1".parse().expect("it is an address")));
        assert!(!one.contains("fd00::2".parse().expect("it is an address")));
    }

    #[test]
    fn invalid_networks_are_rejected() {
        for text in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "10.0.0.0/", "10.0.0.0/-1", "localhost"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
