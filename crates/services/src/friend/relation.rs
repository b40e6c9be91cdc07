//! Relation of two users: a state machine without I/O.
//!
//! ```text
//!            add                    add by the other
//!   nothing ─────→ invite sent,    ─────────────────→ friends
//!      ↑           invite received                       │
//!      └───────────────── delete, by either ─────────────┘
//! ```
//!
//! A block removes the other user's edge, unless that is a block too. Only the one who blocks ends it, with a delete.

/// State of an edge. The numbers are those of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FriendState {
    /// Both are friends.
    Friend = 0,
    /// The owner of the edge sent an invite.
    InviteSent = 1,
    /// The owner of the edge received an invite.
    InviteReceived = 2,
    /// The owner of the edge blocks the other user.
    Blocked = 3,
}

use FriendState::{Blocked, Friend, InviteReceived, InviteSent};

/// Edges between the user who acts and another user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Relation {
    /// Edge of the user who acts.
    pub own: Option<FriendState>,
    /// Edge of the other user.
    pub other: Option<FriendState>,
}

/// Change that the other user learns about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// An invite was sent.
    Requested,
    /// An invite was accepted.
    Accepted,
    /// The friendship ended.
    Removed,
    /// A friend of a social network joined the game.
    JoinedGame,
}

/// Action of a user on another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Invites, or accepts an invite.
    Add,
    /// Ends a friendship or a block, takes an invite back, or rejects one.
    Delete,
    /// Blocks.
    Block,
    /// Makes friends without an invite: both are friends at a social network.
    Befriend,
}

/// The user who acts blocks the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlocksOther;

impl FriendState {
    /// Returns the state with a number.
    #[must_use]
    pub fn from_number(number: i64) -> Option<FriendState> {
        [Friend, InviteSent, InviteReceived, Blocked].into_iter().find(|state| i64::from(state.number()) == number)
    }

    /// Number of the protocol.
    #[must_use]
    pub fn number(self) -> i32 {
        i32::from(self as u8)
    }
}

impl Relation {
    /// Returns the relation after an action, and the notice to the other user.
    pub fn after(self, action: Action) -> Result<(Relation, Option<Notice>), BlocksOther> {
        match action {
            Action::Add => self.after_add(),
            Action::Delete => Ok(self.after_delete()),
            Action::Block => Ok((self.after_block(), None)),
            Action::Befriend => Ok(self.after_befriend()),
        }
    }

    fn after_add(self) -> Result<(Relation, Option<Notice>), BlocksOther> {
        match (self.own, self.other) {
            (Some(Blocked), _) => Err(BlocksOther),
            (None, None) => {
                Ok((Relation { own: Some(InviteSent), other: Some(InviteReceived) }, Some(Notice::Requested)))
            }
            (Some(InviteReceived), _) => Ok((FRIENDS, Some(Notice::Accepted))),
            // An invite to a user who blocks is ignored, and the sender does not learn why.
            _ => Ok((self, None)),
        }
    }

    fn after_delete(self) -> (Relation, Option<Notice>) {
        let nothing = Relation::default();
        match (self.own, self.other) {
            (Some(Blocked), other) => (Relation { own: None, other }, None),
            (None, _) => (self, None),
            (Some(Friend), _) => (nothing, Some(Notice::Removed)),
            (Some(InviteSent | InviteReceived), _) => (nothing, None),
        }
    }

    fn after_block(self) -> Relation {
        Relation { own: Some(Blocked), other: self.other.filter(|other| *other == Blocked) }
    }

    fn after_befriend(self) -> (Relation, Option<Notice>) {
        if self.is_blocked() || self == FRIENDS { (self, None) } else { (FRIENDS, Some(Notice::JoinedGame)) }
    }

    /// Returns true if one blocks the other.
    #[must_use]
    pub fn is_blocked(self) -> bool {
        self.own == Some(Blocked) || self.other == Some(Blocked)
    }
}

const FRIENDS: Relation = Relation { own: Some(Friend), other: Some(Friend) };
