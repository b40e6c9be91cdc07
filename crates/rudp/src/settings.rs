//! Settings of an endpoint.

use std::time::Duration;

/// Settings of an endpoint. Peers may have different ones.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Silence of the peer after which the connection has timed out.
    pub idle: Duration,
    /// Silence of this endpoint after which it sends a ping. Shorter than a third of the peer's `idle`, so that one lost
    /// ping does not end the connection, and short enough for the mappings of NAT devices.
    pub keep_alive: Duration,
    /// Time within which a client must have connected.
    pub connect: Duration,
    /// Bytes of a reliable channel that may be queued, acknowledged ones excluded. With more, `send` fails.
    pub queue_bytes_max: usize,
    /// Bytes of unreliable messages that may be queued. With more, the oldest are dropped.
    pub unreliable_bytes_max: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            idle: Duration::from_secs(20),
            keep_alive: Duration::from_secs(5),
            connect: Duration::from_secs(10),
            queue_bytes_max: 1_024 * 1_024,
            unreliable_bytes_max: 64 * 1_024,
        }
    }
}
