//! Tests of parties.

mod model;
mod rules;
mod service;

use aether_services::matchmaker::{Delivery, UserPresence};
use aether_services::party::{NewParty, Outcome, Parties, PartyEvent, PartyUpdate};
use uuid::Uuid;

/// Presence of the user and session with a number.
fn presence(number: u128) -> UserPresence {
    UserPresence {
        user_id: Uuid::from_u128(number),
        session_id: Uuid::from_u128(1_000_000 + number),
        username: format!("player{number}"),
    }
}

fn session(number: u128) -> Uuid {
    presence(number).session_id
}

fn new_party(party_id: &str, open: bool, max_size: usize) -> NewParty {
    NewParty { party_id: party_id.to_owned(), open, max_size, ..NewParty::default() }
}

fn update(label: String, open: bool, hidden: bool) -> PartyUpdate {
    PartyUpdate { label, open, hidden }
}

/// Party `p` of the first player with these members.
fn party_of(members: &[u128]) -> Parties {
    let mut parties = Parties::new();
    parties.create(new_party("p", true, 8), presence(members[0]), 0).expect("the party is valid");
    for member in &members[1..] {
        parties.join("p", presence(*member)).expect("the party has room");
    }
    parties
}

/// Receivers of a delivery, by number, sorted.
fn receivers(delivery: &Delivery<PartyEvent>) -> Vec<u128> {
    let mut numbers: Vec<u128> = delivery.to.iter().map(|session| session.as_u128() - 1_000_000).collect();
    numbers.sort_unstable();
    numbers
}

/// Deliveries as short texts: receivers, and the event with the numbers of its users.
fn shown(outcome: &Outcome) -> Vec<String> {
    let users =
        |presences: &[UserPresence]| presences.iter().map(|presence| presence.user_id.as_u128()).collect::<Vec<_>>();
    let show = |delivery: &Delivery<PartyEvent>| {
        let event = match &delivery.event {
            PartyEvent::State(state) => {
                format!("state {:?} led by {:?}", users(&state.presences), state.leader.user_id.as_u128())
            }
            PartyEvent::Leader { presence, .. } => format!("leader {}", presence.user_id.as_u128()),
            PartyEvent::JoinRequests { presences, .. } => format!("asks {:?}", users(presences)),
            PartyEvent::Closed { .. } => "closed".to_owned(),
            PartyEvent::Presence { joins, leaves, .. } => {
                format!("joins {:?} leaves {:?}", users(joins), users(leaves))
            }
            PartyEvent::Data { presence, op_code, data, .. } => {
                format!("data {} {op_code} {data:?}", presence.user_id.as_u128())
            }
            PartyEvent::MatchmakerTicket { ticket, .. } => format!("ticket {}", ticket.as_u128()),
        };
        format!("{:?} {event}", receivers(delivery))
    };
    outcome.deliveries.iter().map(show).collect()
}
