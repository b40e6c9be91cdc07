//! Messages of parties on the wire.

use super::event::{PartyEvent, PartyInfo, PartyState};
use crate::matchmaker::UserPresence;
use aether_messages::realtime::envelope::Message;
use aether_messages::{api, realtime};

impl PartyEvent {
    /// Form on the wire.
    pub(super) fn into_message(self) -> Message {
        match self {
            PartyEvent::State(state) => Message::Party(state.to_message()),
            PartyEvent::Leader { party_id, presence } => {
                Message::PartyLeader(realtime::PartyLeader { party_id, presence: Some(presence.to_message()) })
            }
            PartyEvent::JoinRequests { party_id, presences } => {
                Message::PartyJoinRequest(join_requests(party_id, &presences))
            }
            PartyEvent::Closed { party_id } => Message::PartyClose(realtime::PartyClose { party_id }),
            PartyEvent::Presence { party_id, joins, leaves } => {
                let (joins, leaves) = (to_messages(&joins), to_messages(&leaves));
                Message::PartyPresenceEvent(realtime::PartyPresenceEvent { party_id, joins, leaves })
            }
            PartyEvent::Data { party_id, presence, op_code, data } => Message::PartyData(realtime::PartyData {
                party_id,
                presence: Some(presence.to_message()),
                op_code,
                data: data.into(),
            }),
            PartyEvent::MatchmakerTicket { party_id, ticket } => {
                let ticket = ticket.to_string();
                Message::PartyMatchmakerTicket(realtime::PartyMatchmakerTicket { party_id, ticket })
            }
        }
    }
}

impl PartyState {
    /// Form on the wire.
    #[must_use]
    pub fn to_message(&self) -> realtime::Party {
        let PartyInfo { party_id, open, hidden, max_size, label } = self.info.clone();
        realtime::Party {
            party_id,
            open,
            hidden,
            max_size: wire_size(max_size),
            self_: Some(self.own.to_message()),
            leader: Some(self.leader.to_message()),
            presences: to_messages(&self.presences),
            label,
        }
    }
}

impl PartyInfo {
    /// Form in lists.
    #[must_use]
    pub fn to_message(&self) -> api::Party {
        let PartyInfo { party_id, open, hidden, max_size, label } = self.clone();
        api::Party { party_id, open, hidden, max_size: wire_size(max_size), label }
    }
}

/// Returns the message of join requests.
pub(super) fn join_requests(party_id: String, presences: &[UserPresence]) -> realtime::PartyJoinRequest {
    realtime::PartyJoinRequest { party_id, presences: to_messages(presences) }
}

fn to_messages(presences: &[UserPresence]) -> Vec<realtime::UserPresence> {
    presences.iter().map(UserPresence::to_message).collect()
}

fn wire_size(size: usize) -> i32 {
    i32::try_from(size).unwrap_or(i32::MAX)
}
