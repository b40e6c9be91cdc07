//! Limits of brackets.

/// Minimum entrants at the start.
pub const ENTRANTS_MIN: usize = 2;
/// Maximum entrants of elimination and Swiss brackets.
pub const ENTRANTS_MAX: usize = 256;
/// Maximum entrants of a round robin, in which each pair plays: 2,016 matches.
pub const ROUND_ROBIN_ENTRANTS_MAX: usize = 64;
/// Maximum rounds of a Swiss bracket. With more, a pairing without rematches is hard to find.
pub const SWISS_ROUNDS_MAX: u32 = 32;
/// Maximum bytes of a bracket's id.
pub const BRACKET_ID_BYTES_MAX: usize = 128;
/// Maximum bytes of a title.
pub const TITLE_BYTES_MAX: usize = 255;
/// Maximum bytes of a bracket's metadata.
pub const METADATA_BYTES_MAX: usize = 4 << 10;
/// Longest time for a match, in seconds: 30 days.
pub const MATCH_SECONDS_MAX: i64 = 30 * 86_400;
/// Highest score of one side of a match.
pub const SCORE_MAX: u32 = 1_000_000_000;
/// Maximum reports of one entrant on one match. Each is stored.
pub const REPORTS_PER_MATCH_MAX: u32 = 8;
/// Brackets per page, also without a limit.
pub const BRACKET_LIMIT_MAX: usize = 100;
/// Replayed brackets in memory. Others are replayed from the database when they are used.
pub const CACHED_BRACKETS_MAX: usize = 64;
/// Brackets whose deadlines are processed per tick.
pub const EXPIRED_PER_TICK_MAX: i64 = 64;
/// Approximate bytes of a match in an answer.
pub const MATCH_BYTES: usize = 512;
/// Approximate bytes of an entrant in an answer, with its standing.
pub const ENTRANT_BYTES: usize = 768;
