//! What a room type sets about sending.

/// What a connection promises about the packets it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryOrder {
    /// Everything arrives, in order: what was handed over counts as received.
    Ordered,
    /// Packets may be lost, doubled or overtaken: what was acknowledged counts as received.
    Unordered,
}

/// Entities up to a distance are updated every so many snapshots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpdateRing {
    /// The distance up to which this ring reaches.
    pub distance: f32,
    /// Every how many snapshots a change is sent. 1 is every snapshot.
    pub interval: u32,
}

/// How state is sent to each client of a room.
#[derive(Clone, Debug, PartialEq)]
pub struct SendSettings {
    /// The most bytes of state per client and snapshot. What does not fit waits, most urgent first. Default 4,000: at
    /// 20 snapshots a second, 80 kB/s.
    pub bytes_max: usize,
    /// Rings of falling update rate, nearest first; what lies beyond the last is updated as that one is. Default none:
    /// every change is sent in the next snapshot.
    pub rings: Vec<UpdateRing>,
    /// After how many ticks without an acknowledgement a packet on an unordered link counts as lost. Default 20.
    pub resend_ticks: u32,
    /// The length of a tick.
    pub seconds_per_tick: f32,
}

impl Default for SendSettings {
    fn default() -> Self {
        SendSettings { bytes_max: 4_000, rings: Vec::new(), resend_ticks: 20, seconds_per_tick: 1.0 / 20.0 }
    }
}
