//! Figures of a server.

use std::collections::BTreeMap;

use aether_rudp as rudp;

/// Figures of a [`UdpServer`](crate::UdpServer) since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UdpServerStats {
    /// Connections now.
    pub clients: usize,
    /// Connections since the start.
    pub accepted: u64,
    /// Datagrams received, dropped ones included.
    pub datagrams_in: u64,
    /// Bytes received, without IP and UDP headers.
    pub bytes_in: u64,
    /// Datagrams handed to the system.
    pub datagrams_out: u64,
    /// Bytes handed to the system, without IP and UDP headers.
    pub bytes_out: u64,
    /// Dropped datagrams by the label of the reason.
    pub dropped: BTreeMap<&'static str, u64>,
}

/// Label of clients that found no free place.
const FULL: &str = "full";

impl UdpServerStats {
    /// Sum of dropped datagrams.
    pub fn dropped_sum(&self) -> u64 {
        self.dropped.values().sum()
    }

    pub(crate) fn count_dropped(&mut self, reason: rudp::DropReason) {
        *self.dropped.entry(reason.label()).or_default() += 1;
    }

    pub(crate) fn count_full(&mut self) {
        *self.dropped.entry(FULL).or_default() += 1;
    }
}
