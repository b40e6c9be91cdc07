//! Limits of notifications.

/// Most notifications stored for a user. One is deleted when this many newer ones were stored.
pub const STORED_MAX: i64 = 1_000;

/// Longest subject, in bytes. A push provider shows less.
pub const SUBJECT_BYTES_MAX: usize = 1_024;

/// Longest content, in bytes. Larger data belongs in storage.
pub const CONTENT_BYTES_MAX: usize = 8_192;

/// Most notifications of one call. They are stored in one transaction.
pub const SENT_MAX: usize = 1_000;

/// Most notifications in one socket message: with contents of the largest size, less than an outbox holds.
pub const PER_MESSAGE_MAX: usize = 10;

/// Most users that get a notification to all in one transaction, so that other writes do not wait long.
pub const USERS_PER_PAGE: i64 = 200;

/// Most notifications in one list.
pub const LISTED_MAX: i32 = 100;

/// Notifications in a list without a limit.
pub const LISTED_DEFAULT: i32 = 1;

/// Most notifications that one call deletes.
pub const DELETED_MAX: usize = 100;

/// Most notifications that server code reads by id or changes in one call.
pub const CHANGED_MAX: usize = 100;

/// Most messages to the webhook that wait for one absent user. Further notifications are stored, and not pushed.
pub const WAITING_PER_USER_MAX: i64 = 50;
