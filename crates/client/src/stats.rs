//! Figures for a network panel.

use std::time::Duration;

/// How a client is doing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientStats {
    /// The mean round trip, without what the server held pings for; nothing before the first pong.
    pub round_trip: Option<Duration>,
    /// How much the time under way differs from one snapshot to the next.
    pub jitter: Duration,
    /// How far in the past others are shown now.
    pub delay: Duration,
    /// How many ticks the client is ahead of what arrives.
    pub lead_ticks: f64,
    /// How often the own entity was put right.
    pub corrections: u64,
    /// How far it was off the last time that it was.
    pub correction_size: f32,
    /// The most that it was off.
    pub correction_size_max: f32,
    /// How far the own entity is shown from where it is predicted.
    pub displayed_error: f32,
    /// Inputs that were made.
    pub inputs: u64,
    /// Inputs that the server has not acknowledged.
    pub inputs_unacknowledged: usize,
    /// State packets that were taken in.
    pub packets: u64,
    /// State packets that came too late to be of use.
    pub packets_late: u64,
    /// Of the last 64 state packets, those that did not come (yet).
    pub packets_missing: u32,
    /// Messages that could not be read, or that no honest server sends. They are dropped.
    pub faults: u64,
    /// Events that were dropped, because the game did not take them.
    pub events_dropped: u64,
    /// Bytes of frames that came: of [`crate::Client::receive_frame`].
    pub bytes_in: u64,
    /// Bytes of frames that were sent: of [`crate::Client::advance_frames`].
    pub bytes_out: u64,
    /// Times that the connection was lost.
    pub disconnects: u64,
}
