//! Settings of a client.

use std::time::Duration;

/// Settings of a client. They can be changed at any time.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientSettings {
    /// Predicts the own entity with the game's rules. If off, the own entity is displayed like remote ones: late by a
    /// round trip and the interpolation delay. Default on.
    pub prediction: bool,
    /// Corrects predictions by the server's state. If off, errors accumulate; turn it off only for demonstrations.
    /// Default on.
    pub reconciliation: bool,
    /// Interpolates remote entities between two known states. If off, they jump to the newest state with each packet.
    /// Default on.
    pub interpolation: bool,
    /// Initial interpolation delay. Default 110 ms: two snapshots at 20 per second, and some jitter.
    pub delay: Duration,
    /// Minimum of the adaptive delay. Default 30 ms.
    pub delay_min: Duration,
    /// Maximum of the adaptive delay. Default 500 ms: older states are useless for aiming.
    pub delay_max: Duration,
    /// Time for which motion is extrapolated when no newer state has arrived; after it the entity stops. Default 150
    /// ms.
    pub extrapolation_max: Duration,
    /// Distance between two states beyond which an entity teleports instead of being interpolated. In the units of
    /// [`crate::Interpolate::distance`]. Default 64.
    pub teleport_distance: f32,
    /// Time in which a correction of the own entity decays to 1/e. Default 100 ms.
    pub smoothing: Duration,
    /// Distance beyond which a correction of the own entity is not smoothed. Default 64.
    pub snap_distance: f32,
    /// Maximum number of entities on one connection. It bounds the client's memory: a client that gets more closes.
    /// Default 16,384.
    pub entities_max: usize,
    /// Longest time for which state waits for events, possessions and clearings of its tick or an earlier one, on a
    /// transport where state can overtake them. After it the state is applied without them. Zero turns the wait off.
    /// Default 250 ms: two retransmissions on a usual connection, and less than a server waits for an acknowledgement.
    pub event_wait_max: Duration,
    /// Seed of the random reconnect delays. It should differ between clients.
    pub seed: u64,
}

impl Default for ClientSettings {
    fn default() -> Self {
        ClientSettings {
            prediction: true,
            reconciliation: true,
            interpolation: true,
            delay: Duration::from_millis(110),
            delay_min: Duration::from_millis(30),
            delay_max: Duration::from_millis(500),
            extrapolation_max: Duration::from_millis(150),
            teleport_distance: 64.0,
            smoothing: Duration::from_millis(100),
            snap_distance: 64.0,
            entities_max: 16_384,
            event_wait_max: Duration::from_millis(250),
            seed: 0,
        }
    }
}
