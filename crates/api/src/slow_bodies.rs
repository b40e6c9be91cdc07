//! Request bodies that have not arrived yet.
//!
//! A body is in memory while it arrives, for as long as a request may take. A body that is complete when it is first read
//! does not count, so clients that send as fast as they can are not limited.

use aether_limits::{NetworkShare, NetworkShares};
use aether_services::{GrpcCode, ServiceError};
use std::net::IpAddr;

/// Incomplete bodies of one network: 16 MiB of the largest.
const PER_NETWORK_MAX: u32 = 64;
/// Incomplete bodies of the whole server: 256 MiB of the largest, of at least 16 networks.
const TOTAL_MAX: u32 = 1_024;

const TOO_MANY: ServiceError = ServiceError::new(
    GrpcCode::ResourceExhausted,
    "Too many requests of your network are incomplete. Send them faster.",
);

/// Incomplete bodies by network of the client.
#[derive(Default)]
pub(crate) struct SlowBodies {
    shares: NetworkShares,
}

impl SlowBodies {
    /// Counts a body until the share is dropped. Fails if the client has too many.
    pub fn take(&self, address: IpAddr) -> Result<NetworkShare, ServiceError> {
        // Clients on this machine share one address.
        let per_network_max = if address.is_loopback() { TOTAL_MAX } else { PER_NETWORK_MAX };
        self.shares.take(address, per_network_max, TOTAL_MAX).ok_or_else(|| TOO_MANY.retry_after(1))
    }
}
