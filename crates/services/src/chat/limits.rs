//! Limits of chat.

/// Maximum characters of the name of a chat room.
pub const ROOM_NAME_CHARS_MAX: usize = 64;
/// Maximum bytes of the content of a message.
pub const CONTENT_BYTES_MAX: usize = 4_096;
/// Messages of a page of the history, if the request does not say.
pub const PAGE_DEFAULT: i64 = 1;
/// Maximum messages of a page of the history.
pub const PAGE_MAX: i64 = 100;
/// Maximum messages that wait to be stored. Beyond it, senders are told to try again.
pub const QUEUED_MAX: usize = 8_192;
/// Maximum messages stored in one operation, so that the first does not wait long for the last.
pub const BATCH_MAX: usize = 1_024;
