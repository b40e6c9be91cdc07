//! Codes of notifications. Those of the server are negative; games use numbers from 1.

/// A user wants to chat directly.
pub const DIRECT_MESSAGE_REQUEST: i32 = -1;
/// A user wants to become a friend.
pub const FRIEND_REQUEST: i32 = -2;
/// A user accepted a friend request.
pub const FRIEND_ACCEPTED: i32 = -3;
/// The user was added to a group, or a join request was accepted.
pub const GROUP_ADDED: i32 = -4;
/// A user wants to join a group.
pub const GROUP_JOIN_REQUEST: i32 = -5;
/// A friend of a social network joined the game.
pub const FRIEND_JOINED_GAME: i32 = -6;
/// The socket is closed because the user opened another one.
pub const SINGLE_SOCKET: i32 = -7;
/// The user was banned.
pub const BANNED: i32 = -8;
/// A friend ended the friendship.
pub const FRIEND_REMOVED: i32 = -9;
/// A match of a bracket can be played. This and the next are positive, because the protocol has no codes for brackets.
pub const BRACKET_MATCH_READY: i32 = 9_001;
/// A bracket has ended.
pub const BRACKET_ENDED: i32 = 9_002;
/// The user was muted.
pub const MUTED: i32 = 9_003;
/// The user was warned by a moderator.
pub const WARNED: i32 = 9_004;
