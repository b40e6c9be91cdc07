//! Limits of tickets, which come from clients, and of the work of a run.

/// Most tickets of one session, counting the tickets of its parties.
pub const TICKETS_PER_SESSION_MAX: usize = 3;

/// Most tickets of one user in all sessions. Two sessions may use their whole share.
pub const TICKETS_PER_USER_MAX: usize = 6;

/// Most tickets of a server. A ticket takes about 2 KiB with the index.
pub const TICKETS_MAX: usize = 200_000;

/// Most users whom one player of a ticket blocks that the ticket remembers: the latest ones. A party has as many for each
/// of its members.
pub const BLOCKED_PER_PLAYER_MAX: i64 = 200;

/// Most players of a match, and of a ticket.
pub const COUNT_MAX: usize = 256;

/// Most properties of a ticket, string and numeric together. Each is a value of the index.
pub const PROPERTIES_MAX: usize = 64;

/// Longest name of a property, in bytes.
pub const PROPERTY_NAME_BYTES_MAX: usize = 64;

/// Longest string property, in bytes: patterns do not match longer text.
pub const PROPERTY_TEXT_BYTES_MAX: usize = aether_query::limits::PATTERN_TEXT_BYTES_MAX;

/// Bytes of a property in addition to its name and value: their lengths and tags in a message.
pub const PROPERTY_EXTRA_BYTES: usize = 8;

/// Most bytes of the properties of a ticket: names, values and [`PROPERTY_EXTRA_BYTES`] for each.
pub const PROPERTIES_BYTES_MAX: usize = 4_096;

/// Most bytes of the properties of all players of a match. Every player gets all of them in one message, which must fit
/// into an outbox. A ticket for matches of up to n players therefore has at most one n-th of it.
pub const MATCH_PROPERTIES_BYTES_MAX: usize = 128 << 10;

/// Longest query, in bytes. It fits into a socket message with its properties.
pub const QUERY_BYTES_MAX: usize = 2_048;

/// Largest [`cost`](aether_query::Query::cost) of a query. It allows 96 plain clauses, or four patterns and 32 clauses.
pub const QUERY_COST_MAX: usize = 96;

/// Most numeric properties of a ticket whose range widens.
pub const WIDENED_MAX: usize = 8;

/// Fewest and most candidates that one search collects, and how many per missing player. The best score is chosen among
/// them, so a search for a duel looks at 16 opponents.
pub const CANDIDATES_MIN: usize = 16;
/// See [`CANDIDATES_MIN`].
pub const CANDIDATES_MAX: usize = 128;
/// See [`CANDIDATES_MIN`].
pub const CANDIDATES_PER_PLAYER: usize = 4;

/// Number of tickets in a range up to which the query is not used to find fewer: the check of so many is cheap.
pub const PLANNED_ENOUGH: usize = 256;

/// Tickets of one block of the index. A search reads a block at a time, so larger blocks take longer if many tickets suit,
/// and smaller ones if few do.
pub const BLOCK_TICKETS: usize = 8_192;

/// Tickets read from the index that count as one comparison of [`Settings::work_max`](super::Settings::work_max).
pub const KEYS_PER_WORK: u64 = 4;

/// Most steps of the search for a group of one size: comparisons of two candidates. Candidates that all suit each other
/// make a group of 256 in half as many; only candidates that exclude each other take more.
pub const GROUP_STEPS_MAX: u64 = 65_536;

/// Most steps of the search for a group of any size.
pub const GROUP_STEPS_TOTAL_MAX: u64 = 4 * GROUP_STEPS_MAX;

/// Steps that count as one comparison of [`Settings::work_max`](super::Settings::work_max): they read a table.
pub const GROUP_STEPS_PER_WORK: u64 = 8;

/// Most bytes of a player in the message of a match, without properties: ids of the user, the session and the party, and
/// the username.
const PLAYER_BYTES_MAX: usize = 384;

/// Most running matches that ask for players at a time.
pub const BACKFILLS_MAX: usize = 20_000;

/// Number of completed tickets in the stats.
pub const COMPLETIONS_SHOWN: usize = 10;

const _: () = assert!(GROUP_STEPS_MAX >= (COUNT_MAX * COUNT_MAX) as u64, "a whole match takes fewer");
const _: () = assert!(MATCH_PROPERTIES_BYTES_MAX + COUNT_MAX * PLAYER_BYTES_MAX < crate::router::OUTBOX_BYTES_MAX);
const _: () = assert!(CANDIDATES_MIN <= CANDIDATES_MAX);
const _: () = assert!(QUERY_BYTES_MAX <= aether_query::limits::QUERY_BYTES_MAX);
