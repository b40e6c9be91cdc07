//! Limits of groups.

/// Longest name of a group, in bytes: as long as a username.
pub const NAME_BYTES_MAX: usize = 128;

/// Longest description, in bytes. It is sent with every mention of the group.
pub const DESCRIPTION_BYTES_MAX: usize = 1_024;

/// Longest URL of a picture, in bytes.
pub const AVATAR_URL_BYTES_MAX: usize = 512;

/// Longest language tag, in bytes.
pub const LANGUAGE_BYTES_MAX: usize = 18;

/// Most metadata, in bytes. Only server code sets it, and every mention of the group has it.
pub const METADATA_BYTES_MAX: usize = 16_384;

/// Most tags of a group. A search checks each of its tags for every group that it examines.
pub const TAGS_MAX: usize = 16;

/// Longest tag, in bytes.
pub const TAG_BYTES_MAX: usize = 32;

/// Maximum size of a group that names none.
pub const MEMBERS_DEFAULT: u32 = 100;

/// Largest maximum size of a group: as many as the presences of its chat.
pub const MEMBERS_MAX: u32 = 10_000;
const _: () = assert!(MEMBERS_MAX as usize <= crate::router::PRESENCES_PER_STREAM_MAX);

/// Most groups of one user, with join requests. A ban does not count, because others cause it.
pub const GROUPS_PER_USER_MAX: u32 = 256;

/// Most join requests that wait in a group.
pub const JOIN_REQUESTS_MAX: u32 = 1_000;

/// Most banned users of a group.
pub const BANS_MAX: u32 = 1_000;

/// Most users in one call.
pub const USERS_PER_CALL_MAX: usize = 100;

/// Most groups that server code reads by id at once.
pub const GROUPS_PER_CALL_MAX: usize = 100;

/// Most admins who are notified of a join request: those who have served longest, superadmins first.
pub const ADMINS_NOTIFIED_MAX: u32 = 100;

/// Most entries of a page.
pub const LISTED_MAX: usize = 100;

/// Groups of a page without a limit, as in the protocol.
pub const GROUPS_LISTED_DEFAULT: usize = 1;

/// Members or memberships of a page without a limit, as in the protocol.
pub const MEMBERS_LISTED_DEFAULT: usize = 100;

/// Most groups that one search examines. A page of a search with several filters may end here, with a cursor.
pub const EXAMINED_MAX: usize = 1_000;

/// Messages of the chat that one operation deletes with a group, so that others do not wait long.
pub const MESSAGES_DELETED_MAX: u32 = 1_000;

/// Most of these operations. Members who write meanwhile cannot prolong a deletion beyond them.
pub const DELETIONS_MAX: u32 = 100_000;
