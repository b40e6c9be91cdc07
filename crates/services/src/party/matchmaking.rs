//! Matchmaking of a whole party.

use super::Parties;
use super::error::PartyError;
use super::event::{Outcome, PartyEvent};
use crate::matchmaker::{Matchmaker, NewTicket, Properties};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Ticket that a leader asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TicketRequest {
    /// Id of the ticket, unique.
    pub ticket: Uuid,
    /// Query that other tickets have to match. Empty accepts all.
    pub query: String,
    /// Fewest players of the match.
    pub min_count: usize,
    /// Most players of the match.
    pub max_count: usize,
    /// Number that divides the number of players of the match.
    pub count_multiple: usize,
    /// Properties of the party.
    pub properties: Properties,
    /// Users whom members block.
    pub blocked: BTreeSet<Uuid>,
}

impl Parties {
    /// Adds a party to the matchmaker, with one ticket for all its members, who get a message. Only the leader may.
    pub fn add_to_matchmaker(
        &mut self,
        matchmaker: &mut Matchmaker,
        party_id: &str,
        session: Uuid,
        request: TicketRequest,
        now_ms: i64,
    ) -> Result<Outcome, PartyError> {
        let party = self.led_by(party_id, session)?;
        let new = NewTicket {
            id: request.ticket,
            presences: party.members.clone(),
            party_id: Some(party_id.to_owned()),
            query: request.query,
            min_count: request.min_count,
            max_count: request.max_count,
            count_multiple: request.count_multiple,
            properties: request.properties,
            blocked: request.blocked,
        };
        matchmaker.add(new, now_ms)?;
        let added = PartyEvent::MatchmakerTicket { party_id: party_id.to_owned(), ticket: request.ticket };
        let mut outcome = Outcome { reply: Some(added.clone()), ..Outcome::default() };
        outcome.send(party.others(session), added);
        Ok(outcome)
    }

    /// Removes a ticket of a party. Only the leader may.
    pub fn remove_from_matchmaker(
        &mut self,
        matchmaker: &mut Matchmaker,
        party_id: &str,
        session: Uuid,
        ticket: Uuid,
    ) -> Result<Outcome, PartyError> {
        self.led_by(party_id, session)?;
        matchmaker.remove_of_party(party_id, ticket)?;
        Ok(Outcome::default())
    }
}
