//! Limits of the router.

/// Maximum streams of one session. A client is in a few chats, a party, a match.
pub const STREAMS_PER_SESSION_MAX: usize = 128;

/// Maximum presences of one stream. Every join is sent to all of them.
pub const PRESENCES_PER_STREAM_MAX: usize = 10_000;

/// Maximum users that one session follows.
pub const FOLLOWS_PER_SESSION_MAX: usize = 1_000;

/// Maximum sessions that follow one user. Every change of the status is sent to all of them.
pub const FOLLOWERS_PER_USER_MAX: usize = 10_000;

/// Maximum bytes of the label of a stream.
pub const STREAM_LABEL_BYTES_MAX: usize = 256;

/// Maximum bytes of a status.
pub const STATUS_BYTES_MAX: usize = 2_048;

/// Maximum messages that wait for one session, if the client reads slowly.
pub const OUTBOX_MESSAGES_MAX: usize = 256;

/// Maximum bytes of the messages that wait for one session, as protobuf.
pub const OUTBOX_BYTES_MAX: usize = 256 << 10;
