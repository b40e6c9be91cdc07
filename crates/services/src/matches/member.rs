//! Members of matches that are connected by the services socket.

use crate::caller::UserIdentity;
use crate::router::{SocketSession, StreamId, mode};
use aether_messages::realtime::UserPresence;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use uuid::Uuid;

/// Match that a session wants to join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchSelector {
    /// A running match.
    Running(String),
    /// A relayed match, which is created if it does not run.
    Relayed(Uuid),
}

/// Session that joins a match.
#[derive(Clone, Debug)]
pub struct MatchVisitor {
    /// Session of the socket.
    pub socket: SocketSession,
    /// User.
    pub identity: Arc<UserIdentity>,
    /// Address of the client.
    pub address: IpAddr,
}

/// Request to join a match over the services socket.
#[derive(Clone, Debug)]
pub struct JoinMatch {
    /// Session that joins.
    pub visitor: MatchVisitor,
    /// Match.
    pub selector: MatchSelector,
    /// Texts of the client for the game.
    pub metadata: BTreeMap<String, String>,
}

/// Match that a session is a member of.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinedMatch {
    /// Id.
    pub id: String,
    /// True if the match runs a game.
    pub authoritative: bool,
    /// Label.
    pub label: String,
    /// Number of players.
    pub size: u32,
    /// Members. A new member is not among them.
    pub presences: Vec<UserPresence>,
    /// The member itself.
    pub own: UserPresence,
}

/// Data that a member sends.
#[derive(Clone, Copy, Debug)]
pub struct SentData<'a> {
    /// Op code, which the game or the other clients understand.
    pub op_code: i64,
    /// Contents.
    pub data: &'a [u8],
    /// Sessions of the members that get it; all if empty. A game gets all data itself.
    pub receivers: &'a [Uuid],
    /// True if the sender asked for reliable delivery.
    pub is_reliable: bool,
}

/// Stream of the members of a relayed match.
#[must_use]
pub fn relayed_stream(id: Uuid) -> StreamId {
    StreamId { mode: mode::RELAYED_MATCH, subject: id, ..StreamId::default() }
}

/// Stream of the members of a match that runs a game on a node.
#[must_use]
pub fn authoritative_stream(id: Uuid, node: &str) -> StreamId {
    StreamId { mode: mode::MATCH, subject: id, label: node.to_owned(), ..StreamId::default() }
}
