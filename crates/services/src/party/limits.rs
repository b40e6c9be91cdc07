//! Limits of parties.

/// Most members of a party, and the largest maximum size.
pub const SIZE_MAX: usize = 256;

/// Longest label, in bytes: as long as that of a match.
pub const LABEL_BYTES_MAX: usize = aether_query::limits::TEXT_BYTES_MAX;

/// Most data of one message, in bytes: as much as a socket message holds.
pub const DATA_BYTES_MAX: usize = 4_096;

/// Most parties of one session, counting join requests.
pub const PARTIES_PER_SESSION_MAX: usize = 8;

/// Most parties of a server.
pub const PARTIES_MAX: usize = 100_000;

/// Most parties in one list.
pub const LISTED_MAX: usize = 100;

/// Parties in a list without a limit.
pub const LISTED_DEFAULT: usize = 10;
