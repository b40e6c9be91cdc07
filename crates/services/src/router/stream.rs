//! Streams and the presences in them.

use super::limits::STREAM_LABEL_BYTES_MAX;
use crate::error::ServiceError;
use aether_messages::realtime::{Stream, UserPresence};
use std::sync::Arc;
use uuid::Uuid;

/// Modes of streams. Games use numbers from [`mode::GAME_MIN`].
pub mod mode {
    /// Sessions of a user; the subject is the user. Every connected session is in it.
    pub const NOTIFICATIONS: u8 = 0;
    /// Status of a user; the subject is the user. Followers get its presence events.
    pub const STATUS: u8 = 1;
    /// Chat room; the label is its name.
    pub const CHANNEL: u8 = 2;
    /// Chat of a group; the subject is the group.
    pub const GROUP: u8 = 3;
    /// Chat of two users: the subject and the subcontext, the lower id first.
    pub const DIRECT: u8 = 4;
    /// Relayed match; the subject is its id.
    pub const RELAYED_MATCH: u8 = 5;
    /// Authoritative match; the subject is its id, the label its node.
    pub const MATCH: u8 = 6;
    /// Party; the subject is its id, the label its node.
    pub const PARTY: u8 = 7;
    /// Those who watch the list of matches; the label is the type of the matches, or empty for all.
    pub const MATCH_LIST: u8 = 8;
    /// Live updates of a bracket to its entrants; the label is its id.
    pub const BRACKET: u8 = 9;
    /// Those who watch changes of remote values.
    pub const REMOTE_VALUES: u8 = 10;
    /// Lowest mode for streams of games.
    pub const GAME_MIN: u8 = 64;
}

/// Id of a stream: a group of sessions that receive the same messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// Kind of the stream: see [`mode`].
    pub mode: u8,
    /// Subject, such as a user or a match; nil if there is none.
    pub subject: Uuid,
    /// Second id; nil if there is none.
    pub subcontext: Uuid,
    /// Label, such as the name of a chat room.
    pub label: String,
}

/// Session of a client with a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketSession {
    /// Id of the socket session. A token may have several.
    pub session: Uuid,
    /// User.
    pub user: Uuid,
    /// Username at the time of the connection.
    pub username: Arc<str>,
    /// Node that has the connection.
    pub node: Arc<str>,
}

/// Properties of a presence that the one who tracks it chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresenceMeta {
    /// True if others do not see the presence. It still receives messages.
    pub hidden: bool,
    /// True if messages of the presence are stored, in chat.
    pub persistence: bool,
    /// Status text.
    pub status: String,
}

/// Presence of a session in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// Session that is present.
    pub socket: SocketSession,
    /// Properties of the presence.
    pub meta: PresenceMeta,
}

/// Change of the visible presences of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresenceEvent {
    /// Stream.
    pub stream: StreamId,
    /// Presences that joined, or changed: their new properties.
    pub joins: Vec<Presence>,
    /// Presences that left, or changed: their former properties.
    pub leaves: Vec<Presence>,
}

impl StreamId {
    /// Stream of the sessions of a user.
    #[must_use]
    pub fn notifications(user: Uuid) -> StreamId {
        StreamId { mode: mode::NOTIFICATIONS, subject: user, ..StreamId::default() }
    }

    /// Stream of the status of a user.
    #[must_use]
    pub fn status(user: Uuid) -> StreamId {
        StreamId { mode: mode::STATUS, subject: user, ..StreamId::default() }
    }

    /// Returns true if only the server's services change the presences: sessions of a user, matches, parties, and those who
    /// watch lists. Other code would take users out of matches that they are in.
    #[must_use]
    pub fn is_managed(&self) -> bool {
        matches!(self.mode, mode::NOTIFICATIONS | mode::RELAYED_MATCH..=mode::REMOTE_VALUES)
    }

    /// Rejects a label that is too long.
    pub(super) fn check(&self) -> Result<(), ServiceError> {
        if self.label.len() > STREAM_LABEL_BYTES_MAX {
            let message = format!("The label of a stream must have at most {STREAM_LABEL_BYTES_MAX} bytes.");
            return Err(ServiceError::invalid(message));
        }
        Ok(())
    }

    /// Form on the wire. A nil id is left out.
    #[must_use]
    pub fn to_message(&self) -> Stream {
        let text = |id: Uuid| if id.is_nil() { String::new() } else { id.to_string() };
        Stream {
            mode: self.mode.into(),
            subject: text(self.subject),
            subcontext: text(self.subcontext),
            label: self.label.clone(),
        }
    }
}

impl Presence {
    /// Form on the wire. Only presences of a status stream have a status.
    #[must_use]
    pub fn to_message(&self, mode: u8) -> UserPresence {
        UserPresence {
            user_id: self.socket.user.to_string(),
            session_id: self.socket.session.to_string(),
            username: self.socket.username.to_string(),
            persistence: self.meta.persistence,
            status: (mode == mode::STATUS || !self.meta.status.is_empty()).then(|| self.meta.status.clone()),
        }
    }
}
