//! Events of parties, and the results of calls.

use crate::matchmaker::{Delivery, UserPresence};
use uuid::Uuid;

/// Event of a party, as a message to a session.
#[derive(Clone, Debug, PartialEq)]
pub enum PartyEvent {
    /// State of the party, for a member that created or joined it.
    State(PartyState),
    /// The leader changed.
    Leader {
        /// Party.
        party_id: String,
        /// New leader.
        presence: UserPresence,
    },
    /// Presences that ask to join: a new one for the leader, or the list.
    JoinRequests {
        /// Party.
        party_id: String,
        /// Presences, the oldest request first.
        presences: Vec<UserPresence>,
    },
    /// The party closed, or the member was removed.
    Closed {
        /// Party.
        party_id: String,
    },
    /// Members joined or left.
    Presence {
        /// Party.
        party_id: String,
        /// New members.
        joins: Vec<UserPresence>,
        /// Former members.
        leaves: Vec<UserPresence>,
    },
    /// Data from a member.
    Data {
        /// Party.
        party_id: String,
        /// Sender.
        presence: UserPresence,
        /// Kind of data, chosen by the game.
        op_code: i64,
        /// Content.
        data: Vec<u8>,
    },
    /// The leader added the party to the matchmaker.
    MatchmakerTicket {
        /// Party.
        party_id: String,
        /// Ticket.
        ticket: Uuid,
    },
}

/// State of a party for one member.
#[derive(Clone, Debug, PartialEq)]
pub struct PartyState {
    /// Party.
    pub info: PartyInfo,
    /// Presence of the receiver.
    pub own: UserPresence,
    /// Leader.
    pub leader: UserPresence,
    /// All members, the oldest first.
    pub presences: Vec<UserPresence>,
}

/// Public description of a party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartyInfo {
    /// Id, which ends with the name of the node.
    pub party_id: String,
    /// True if users join without a request.
    pub open: bool,
    /// True if the party is in no list.
    pub hidden: bool,
    /// Most members.
    pub max_size: usize,
    /// Label, a JSON object.
    pub label: String,
}

/// Result of a call: the answer to the caller, and messages to sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Answer; `None` is an empty one.
    pub reply: Option<PartyEvent>,
    /// Messages, in this order.
    pub deliveries: Vec<Delivery<PartyEvent>>,
    /// Parties whose members changed: their matchmaker tickets end.
    pub changed: Vec<String>,
}

impl Outcome {
    /// Adds a message, unless nobody receives it.
    pub(super) fn send(&mut self, to: Vec<Uuid>, event: PartyEvent) {
        if !to.is_empty() {
            self.deliveries.push(Delivery { to, event });
        }
    }
}
