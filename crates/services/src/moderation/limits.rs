//! Limits of reports and mutes.

/// Longest category of a report, in bytes. A game has its own categories.
pub const CATEGORY_BYTES_MAX: usize = 32;

/// Longest text of a statement, in bytes.
pub const TEXT_BYTES_MAX: usize = 2_048;

/// Most messages that one statement names.
pub const MESSAGES_MAX: usize = 10;

/// Longest copy of the text of a message, in bytes. The rest is cut off.
pub const MESSAGE_BYTES_MAX: usize = 2_048;

/// Longest id of a channel, a message or a match, in bytes.
pub const CONTEXT_ID_BYTES_MAX: usize = 256;

/// Most statements of one report: repeated reports of the same player while the first is open.
pub const STATEMENTS_MAX: usize = 8;

/// Most bytes of all statements of one report, as JSON.
pub const STATEMENTS_BYTES_MAX: usize = 65_536;

/// Most reports of one player within [`REPORTS_PERIOD_MS`].
pub const REPORTS_PER_PERIOD_MAX: i64 = 20;

/// Period in which the reports of a player are counted: a day.
pub const REPORTS_PERIOD_MS: i64 = 24 * 3_600 * 1_000;

/// Longest note or reason, in bytes.
pub const NOTE_BYTES_MAX: usize = 1_024;

/// Longest mute with an end, in seconds: ten years.
pub const MUTE_SECONDS_MAX: i64 = 10 * 365 * 86_400;

/// Most players who are muted at once: they are in memory, with about 100 bytes each.
pub const MUTED_MAX: usize = 100_000;

/// Most reports and mutes in one list.
pub const LISTED_MAX: u32 = 100;

/// Most open reports about one player that are resolved at once. Each is a row of the same statement.
pub const RESOLVED_AT_ONCE_MAX: i64 = 1_000;
