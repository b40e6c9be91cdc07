//! Conversion between times of the store and times of messages.

use prost_types::Timestamp;

const MS_PER_SECOND: i64 = 1_000;
const NANOSECONDS_PER_MS: i32 = 1_000_000;

/// Converts milliseconds since 1970 to a timestamp.
#[must_use]
pub fn timestamp(ms: i64) -> Timestamp {
    let within_second = i32::try_from(ms.rem_euclid(MS_PER_SECOND)).expect("a remainder of 1,000 fits 32 bits");
    Timestamp { seconds: ms.div_euclid(MS_PER_SECOND), nanos: within_second * NANOSECONDS_PER_MS }
}

/// Converts a timestamp to milliseconds since 1970, saturating at the limits of 64 bits.
#[must_use]
pub fn timestamp_ms(timestamp: &Timestamp) -> i64 {
    let within_second = i64::from(timestamp.nanos.div_euclid(NANOSECONDS_PER_MS));
    timestamp.seconds.saturating_mul(MS_PER_SECOND).saturating_add(within_second)
}
