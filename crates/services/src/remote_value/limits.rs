//! Limits of remote values.

/// Longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 128;

/// Longest value, in bytes of JSON. A rule's value has the same limit.
pub const VALUE_BYTES_MAX: usize = 16_384;

/// Deepest nesting of a value.
pub const VALUE_DEPTH_MAX: usize = 32;

/// Most keys. All of them are in memory, and one call of a client may return all.
pub const VALUES_MAX: usize = 1_000;

/// Most bytes of all keys, values and rules together. They are in memory, and one answer may have all values.
pub const TOTAL_BYTES_MAX: usize = 1_024 * 1_024;

/// Most rules of a key. They are checked in order.
pub const RULES_MAX: usize = 32;

/// Deepest nesting of the conditions of a rule.
pub const CONDITION_DEPTH_MAX: usize = 4;

/// Most conditions of a rule, counting nested ones.
pub const CONDITIONS_MAX: usize = 64;

/// Most texts or users that one condition names.
pub const CONDITION_ITEMS_MAX: usize = 256;

/// Longest text of a condition, in bytes.
pub const CONDITION_TEXT_BYTES_MAX: usize = 256;

/// Most keys that one request names.
pub const KEYS_PER_REQUEST_MAX: usize = 100;

/// Most remote values in one list for operators.
pub const LISTED_MAX: u32 = 100;
