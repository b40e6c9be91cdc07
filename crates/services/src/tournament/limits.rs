//! Limits of tournaments.

/// Highest category.
pub const CATEGORY_MAX: u32 = 127;
/// Maximum bytes of a title.
pub const TITLE_BYTES_MAX: usize = 255;
/// Maximum bytes of a description. All tournaments are held in memory.
pub const DESCRIPTION_BYTES_MAX: usize = 2_048;
/// Maximum entrants and attempts that terms can name; the protocol has 32 bits for both.
pub const COUNT_MAX: i64 = u32::MAX as i64;
/// Longest duration and latest time, in seconds; the protocol has 32 bits for both.
pub const SECONDS_MAX: i64 = u32::MAX as i64;
/// Maximum attempts that one call can add or remove.
pub const ATTEMPTS_ADDED_MAX: i64 = 1_000_000;
/// Tournaments per page, also without a limit; and maximum ids per request.
pub const TOURNAMENT_LIMIT_MAX: usize = 100;
/// Records per page without a limit.
pub const RECORD_LIMIT_DEFAULT: usize = 10;
/// Maximum records per page, and maximum owners per request.
pub const RECORD_LIMIT_MAX: usize = 100;
/// Records around an owner, also without a limit.
pub const AROUND_LIMIT_MAX: usize = 100;
