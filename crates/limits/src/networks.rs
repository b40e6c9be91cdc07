//! Networks that count as one peer.

use crate::{KeyedShare, KeyedShares};
use std::net::{IpAddr, Ipv6Addr};

/// Prefixes of IPv6 networks that are counted, in bits, with the multiple of a peer's limit that each has. A customer has
/// anything from a /64 to a /48, which are 65,536 networks of /64; a /48 may also be a whole office or campus.
const IPV6_PREFIXES: [(u32, u32); 3] = [(64, 1), (56, 2), (48, 4)];

/// A network that is counted as one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network {
    /// First address.
    address: IpAddr,
    /// Bits of the prefix: the same address begins networks of several lengths.
    prefix_bits: u32,
}

/// Counts the shares of networks: of an IPv4 address, or of an IPv6 address at several prefix lengths.
#[derive(Clone, Debug, Default)]
pub struct NetworkShares {
    by_prefix: [KeyedShares<Network>; IPV6_PREFIXES.len()],
}

/// A share of a network.
#[derive(Debug)]
pub struct NetworkShare {
    _by_prefix: [Option<KeyedShare<Network>>; IPV6_PREFIXES.len()],
}

impl NetworkShares {
    /// Takes a share for an address. Returns `None` if the limit of one of its networks or the total limit is reached.
    #[must_use]
    pub fn take(&self, address: IpAddr, per_network_max: u32, total_max: u32) -> Option<NetworkShare> {
        self.take_many(address, 1, per_network_max, total_max)
    }

    /// Takes several shares for an address, all or none.
    #[must_use]
    pub fn take_many(&self, address: IpAddr, size: u32, per_network_max: u32, total_max: u32) -> Option<NetworkShare> {
        let mut taken = [const { None }; IPV6_PREFIXES.len()];
        for (index, (network, multiple)) in networks_of(address).enumerate() {
            // The first prefix covers all shares.
            let total_max = if index == 0 { total_max } else { u32::MAX };
            let network_max = per_network_max.saturating_mul(multiple);
            taken[index] = Some(self.by_prefix[index].take_many(network, size, network_max, total_max)?);
        }
        Some(NetworkShare { _by_prefix: taken })
    }

    /// Number of all shares.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.by_prefix[0].total()
    }
}

/// Returns the smallest network that counts as one peer: an IPv4 address, or the /64 network of an IPv6 address.
#[must_use]
pub fn network_of(address: IpAddr) -> IpAddr {
    networks_of(address).next().map_or(address, |(network, _)| network.address)
}

/// Returns the networks of an address, smallest first, each with the multiple of a peer's limit that it has.
pub fn networks_of(address: IpAddr) -> impl Iterator<Item = (Network, u32)> {
    let address = address.to_canonical();
    let prefixes = match address {
        IpAddr::V6(address) if !address.is_loopback() => &IPV6_PREFIXES[..],
        _ => &IPV6_PREFIXES[..1],
    };
    prefixes.iter().map(move |(bits, multiple)| match address {
        IpAddr::V6(address) if !address.is_loopback() => {
            let network = Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - bits)));
            (Network { address: IpAddr::V6(network), prefix_bits: *bits }, *multiple)
        }
        address => (Network { address, prefix_bits: *bits }, *multiple),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_ipv6_network_is_one_peer_and_a_mapped_address_is_what_it_maps() {
        let network = |text: &str| network_of(address(text));
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), network("2001:db8:1:2:ffff::"));
        assert_ne!(network("2001:db8:1:2::"), network("2001:db8:1:3::"));
        assert_eq!(network("::ffff:1.2.3.4"), network("1.2.3.4"));
        assert_eq!(network("::1").to_string(), "::1");
    }

    #[test]
    fn wider_ipv6_networks_have_a_limit_too() {
        let shares = NetworkShares::default();
        let mut held = Vec::new();
        // Every address has its own /64, all in one /48.
        for number in 0..1_000 {
            held.extend(shares.take(address(&format!("2001:db8:1:{number:x}::1")), 10, 1_000));
        }
        assert_eq!(held.len(), 40, "four times the limit of a peer");
        assert_eq!(shares.total(), 40, "failed attempts leave nothing behind");
        let same_56 =
            (0..256).filter_map(|number| shares.take(address(&format!("2001:db8:2:{number:x}::1")), 10, 1_000));
        assert_eq!(same_56.collect::<Vec<_>>().len(), 20, "twice the limit of a peer");
        assert!(shares.take(address("2001:db8:3::1"), 10, 40).is_none(), "the total limit");
        drop(held);
        assert!(shares.take(address("2001:db8:1:1::1"), 10, 1_000).is_some());
    }
}
