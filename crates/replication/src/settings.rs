//! Settings of sending.

/// Delivery guarantee of a connection for state packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryOrder {
    /// Everything arrives, in order. A packet counts as received when it is sent.
    Ordered,
    /// Packets may be lost, duplicated or reordered. A packet counts as received when it is acknowledged.
    Unordered,
}

/// Update ring: entities up to a distance are updated every `interval` snapshots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpdateRing {
    /// Outer distance of the ring.
    pub distance: f32,
    /// Interval in snapshots; 1 is every snapshot.
    pub interval: u32,
}

/// Settings of how state is sent to each client of a room.
#[derive(Clone, Debug, PartialEq)]
pub struct SendSettings {
    /// Maximum bytes of state per client and snapshot. The rest waits, ordered by urgency. Default 4,000: at 20
    /// snapshots per second, 80 kB/s.
    pub bytes_max: usize,
    /// Update rings, nearest first. Entities beyond the last ring are updated like those in it. Default none: every
    /// change is in the next snapshot.
    pub rings: Vec<UpdateRing>,
    /// Ticks without an acknowledgement after which a packet counts as lost, with unordered delivery. Default 20.
    pub resend_ticks: u32,
    /// Length of a tick, in seconds.
    pub seconds_per_tick: f32,
}

impl Default for SendSettings {
    fn default() -> Self {
        SendSettings { bytes_max: 4_000, rings: Vec::new(), resend_ticks: 20, seconds_per_tick: 1.0 / 20.0 }
    }
}
