//! Match candidates, and the decisions on them.

use super::ticket::{Properties, Ticket, TicketKey, UserPresence};
use std::sync::Arc;
use uuid::Uuid;

/// Number of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CandidateId(pub u64);

/// Output of the matchmaker.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Tickets that may become a match, or join a running one. The caller decides with
    /// [`resolve`](super::Matchmaker::resolve).
    Candidate(Candidate),
    /// Seats of players who did not join in time.
    SeatsFreed {
        /// Match that kept them.
        match_id: String,
        /// Users who did not join.
        users: Vec<Uuid>,
    },
}

/// Tickets that may become a match. They are held until the decision and match nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Number of the candidate.
    pub id: CandidateId,
    /// Running match that the tickets would join; `None` for a new match.
    pub backfill: Option<String>,
    /// Tickets, the one that searched first.
    pub tickets: Vec<CandidateTicket>,
}

/// Ticket of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateTicket {
    /// Id of the ticket.
    pub ticket: Uuid,
    /// Creation of the ticket, in milliseconds since 1970.
    pub created_ms: i64,
    /// Its players.
    pub users: Vec<MatchedUser>,
}

/// Player of a candidate or a match.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchedUser {
    /// Session of the player.
    pub presence: UserPresence,
    /// Party of the player.
    pub party_id: Option<String>,
    /// Properties of the ticket.
    pub properties: Arc<Properties>,
}

/// Decision on a candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The candidate becomes a match.
    Accept(MatchTarget),
    /// Only these tickets become a match. The others search again in the next interval.
    AcceptOnly(Vec<Uuid>, MatchTarget),
    /// No match: all tickets search again in the next interval.
    Release,
}

/// Match that players are sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchTarget {
    /// Id of the match. Its seats are reserved under this id.
    pub match_id: String,
    /// Token with which clients join, if the match does not exist yet. They get the match id otherwise.
    pub token: Option<String>,
}

/// Message to a player whose ticket matched.
#[derive(Clone, Debug, PartialEq)]
pub struct Matched {
    /// Ticket of the player.
    pub ticket: Uuid,
    /// Match to join.
    pub target: MatchTarget,
    /// All players of the match.
    pub users: Arc<[MatchedUser]>,
    /// Index of the player in `users`.
    pub own: usize,
}

/// Event and the sessions that receive it.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery<E> {
    /// Sessions.
    pub to: Vec<Uuid>,
    /// Event.
    pub event: E,
}

/// Candidate without a decision.
#[derive(Debug)]
pub(super) struct HeldCandidate {
    pub keys: Vec<TicketKey>,
    pub backfill: Option<String>,
}

impl CandidateTicket {
    pub(super) fn of(ticket: &Ticket) -> CandidateTicket {
        let properties = Arc::new(ticket.properties.clone());
        let users = ticket.presences.iter().map(|presence| MatchedUser {
            presence: presence.clone(),
            party_id: ticket.party_id.clone(),
            properties: Arc::clone(&properties),
        });
        CandidateTicket { ticket: ticket.id, created_ms: ticket.created_ms, users: users.collect() }
    }
}
