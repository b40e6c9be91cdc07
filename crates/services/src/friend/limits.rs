//! Limits of friends.

/// Most friends and sent invites of a user.
pub const FRIENDS_MAX: i64 = 5_000;

/// Most received invites of a user that wait. They do not count as friends, so that others cannot fill the list.
pub const INVITES_RECEIVED_MAX: i64 = 1_000;

/// Most users that a user blocks.
pub const BLOCKED_MAX: i64 = 5_000;

/// Most ids, and most usernames, of one call. All users are locked in one transaction.
pub const USERS_PER_CALL_MAX: usize = 100;

/// Longest metadata of an edge, in bytes.
pub const METADATA_BYTES_MAX: usize = 4_096;

/// Most friends in one list, and friends in a list without a limit.
pub const LISTED_MAX: i32 = 1_000;

/// Bytes of the texts of a list after which it ends early, with a cursor.
pub const LIST_BYTES_MAX: usize = 4 << 20;

/// Rows of a list that are read at a time.
pub const LIST_STEP: i64 = 100;

/// Most friends of friends in one list.
pub const OF_FRIENDS_LISTED_MAX: i32 = 100;

/// Friends of friends in a list without a limit.
pub const OF_FRIENDS_LISTED_DEFAULT: i32 = 10;

/// Most friends whose friends one list looks at. A list that stops here has a cursor, and may be short.
pub const OF_FRIENDS_SEARCHED_MAX: usize = 100;

/// Most friends that are imported from a provider in one call.
pub const IMPORTED_MAX: usize = 5_000;
