//! Statistics for a network panel.

use std::time::Duration;

/// Statistics of a client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientStats {
    /// Mean round trip, without the time that the server held pings. `None` before the first pong.
    pub round_trip: Option<Duration>,
    /// Server's time minus the client's, in seconds: the tick that the server is at now, divided by its rate, minus the
    /// time passed to the client. `None` before the first pong and the first state.
    pub clock_offset_seconds: Option<f64>,
    /// Variation of the transit time between snapshots.
    pub jitter: Duration,
    /// Current interpolation delay.
    pub delay: Duration,
    /// Ticks by which the client is ahead of the arriving state.
    pub lead_ticks: f64,
    /// Speed of the room's time, which the client follows: 1 is normal. An overloaded room slows down.
    pub time_rate: f32,
    /// Rung of the room's overload ladder, from the last pong; 0 is no overload.
    pub overload_rung: u32,
    /// Number of corrections of the own entity.
    pub corrections: u64,
    /// Distance of the last correction.
    pub correction_size: f32,
    /// Distance of the largest correction.
    pub correction_size_max: f32,
    /// Distance between the displayed and the predicted own entity.
    pub displayed_error: f32,
    /// Number of inputs created.
    pub inputs: u64,
    /// Number of inputs that the server has not acknowledged.
    pub inputs_unacknowledged: usize,
    /// Number of state packets applied.
    pub packets: u64,
    /// Number of state packets that arrived too late to be used.
    pub packets_late: u64,
    /// Number of the last 64 state packets that have not arrived.
    pub packets_missing: u32,
    /// Number of state packets that waited for events of their tick.
    pub packets_held: u64,
    /// Share of the last 64 state packets that have not arrived, from 0 to 1. With ordered delivery nothing is lost.
    pub loss: f32,
    /// Number of messages dropped because they could not be decoded, encoded or were implausible.
    pub faults: u64,
    /// Number of events dropped because the game did not read them.
    pub events_dropped: u64,
    /// Bytes received through [`crate::Client::receive_frame`].
    pub bytes_in: u64,
    /// Bytes sent through [`crate::Client::advance_frames`].
    pub bytes_out: u64,
    /// Number of lost connections.
    pub disconnects: u64,
}
