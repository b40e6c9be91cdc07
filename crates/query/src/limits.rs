//! Limits of queries and documents, which come from clients.

/// Longest query, in bytes. A list of a hundred accounts to avoid, each 50 bytes, fits.
pub const QUERY_BYTES_MAX: usize = 8_192;

/// Most clauses of a query. Each is checked against every candidate.
pub const CLAUSES_MAX: usize = 256;

/// Most clauses of a query with a wildcard, a regular expression or a fuzzy word, which cost more than others: each
/// takes up to 20 KiB of memory, and a pass over the text of every candidate.
pub const PATTERNS_MAX: usize = 8;

/// Work of a pattern in [`Query::cost`](crate::Query::cost): it reads a text of usual length once, while other clauses
/// mostly compare its first bytes.
pub const PATTERN_COST: usize = 16;

/// Longest wildcard, regular expression or fuzzy word, in bytes.
pub const PATTERN_BYTES_MAX: usize = 256;

/// Longest text that a wildcard or a regular expression is compared with, in bytes; a longer one does not match. It bounds
/// what the worst pattern costs for a document, to some tens of microseconds.
pub const PATTERN_TEXT_BYTES_MAX: usize = 256;

/// Most characters and character classes of a pattern after its repetitions are written out: `a{3}` has three. They are
/// the bits of one word of the automaton, which looks four of them up at once, so a step takes 32 lookups at most.
pub const PATTERN_POSITIONS_MAX: usize = 128;

/// Deepest nesting of groups in a regular expression. The parser calls itself once per group.
pub const PATTERN_DEPTH_MAX: usize = 16;

/// Largest edit distance of a fuzzy word. Beyond two, short words match nearly everything.
pub const FUZZY_DISTANCE_MAX: u8 = 2;

/// Largest boost, in either direction. Sums of so many clauses keep a millionth exact.
pub const BOOST_MAX: f64 = 1e6;

/// Most values of a document. A label has 2,048 bytes and cannot hold as many.
pub const VALUES_MAX: usize = 1_024;

/// Deepest nesting of JSON in a document. The walk calls itself once per level.
pub const DEPTH_MAX: usize = 16;

/// Longest dotted name of a field, in bytes.
pub const FIELD_NAME_BYTES_MAX: usize = 256;

/// Longest text value, in bytes: as long as a label may be.
pub const TEXT_BYTES_MAX: usize = 2_048;

const _: () = assert!(PATTERN_POSITIONS_MAX == u128::BITS as usize, "a position is a bit of the automaton's word");
const _: () = assert!(PATTERNS_MAX <= CLAUSES_MAX, "a pattern is a clause");
