//! What a game sets about its client.

use std::time::Duration;

/// The settings of a client. They may be changed at any time; what they concern follows smoothly.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientSettings {
    /// Whether the own entity is moved at once by the game's rules. Without it, the own entity is shown as others are: a
    /// round trip and the delay late. Default on.
    pub prediction: bool,
    /// Whether what was predicted is put right by what the server says. Without it, errors stay and add up: it is there to
    /// be seen. Default on.
    pub reconciliation: bool,
    /// Whether others are shown between two states, a little in the past. Without it, they are where the newest packet
    /// says, and jump. Default on.
    pub interpolation: bool,
    /// How far in the past others are shown at first. Default 110 ms: two snapshots at 20 a second, and some jitter.
    pub delay: Duration,
    /// The least that the delay adapts to. Default 30 ms.
    pub delay_min: Duration,
    /// The most that the delay adapts to. Default 500 ms: what is older helps nobody to aim.
    pub delay_max: Duration,
    /// For how long a motion is carried on when nothing newer has come; then it holds. Default 150 ms.
    pub extrapolation_max: Duration,
    /// What moves farther than this between two states has not moved but been put there, and is not shown in between.
    /// In the units of [`crate::Interpolate::distance`]. Default 64.
    pub teleport_distance: f32,
    /// The time in which a correction of the own entity fades to a third (exponentially). Default 100 ms.
    pub smoothing: Duration,
    /// A correction of the own entity beyond this distance is not faded: the entity is simply elsewhere. Default 64.
    pub snap_distance: f32,
    /// How many entities the client follows on one connection. A server that shows more is left: what it sends decides
    /// how much memory the client takes. Default 16,384.
    pub entities_max: usize,
    /// What makes the pauses between attempts to connect differ from those of other clients.
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
            seed: 0,
        }
    }
}
