//! Matchmaker: forms matches of tickets whose queries accept each other.
//!
//! [`MatchmakerService`] serves it to sockets and rooms. [`Matchmaker`] is the state machine without I/O. The time is an argument, in milliseconds since 1970; ids of tickets come from the caller;
//! the same calls give the same results. The caller runs it when [`Matchmaker::next_run_ms`] says so, polls its output,
//! and decides on each candidate:
//!
//! ```
//! use aether_services::matchmaker::{
//!     Decision, MatchTarget, Matchmaker, NewTicket, Output, Properties, Settings, UserPresence,
//! };
//! use uuid::Uuid;
//!
//! let mut matchmaker = Matchmaker::new(Settings::default());
//! for (number, skill) in [(1, 1000.0), (2, 1040.0)] {
//!     let presence = UserPresence {
//!         user_id: Uuid::from_u128(number),
//!         session_id: Uuid::from_u128(number),
//!         username: format!("player{number}"),
//!     };
//!     let ticket = NewTicket {
//!         id: Uuid::from_u128(number),
//!         presences: vec![presence],
//!         party_id: None,
//!         query: "+properties.skill:>=900 +properties.skill:<=1100".to_owned(),
//!         min_count: 2,
//!         max_count: 2,
//!         count_multiple: 1,
//!         properties: Properties { numbers: [("skill".to_owned(), skill)].into(), ..Properties::default() },
//!         blocked: Default::default(),
//!     };
//!     matchmaker.add(ticket, 0)?;
//! }
//! matchmaker.run(0);
//! let Some(Output::Candidate(candidate)) = matchmaker.poll_output() else { panic!("both match") };
//! let target = MatchTarget { match_id: "m1".to_owned(), token: None };
//! let deliveries = matchmaker.resolve(candidate.id, Decision::Accept(target), 0)?;
//! assert_eq!(deliveries.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rules
//!
//! - A match of n players is valid if every ticket in it allows n (minimum, maximum, multiple), every ticket's query and
//!   ranges accept every other ticket, no user is in it twice, and no player blocks another ([`NewTicket::blocked`]). With [`Settings::mutual`] off, only the query of the
//!   ticket that searches has to accept the others.
//! - A match has the maximum count of one of its tickets, or has a ticket that has waited for
//!   [`Settings::max_intervals`]; such a ticket takes the largest match that it finds.
//! - A ticket searches right after it arrives, when it has waited for the maximum of intervals, and in each interval while
//!   a range of it widens. A match that becomes possible contains a ticket to which one of these applies, so the others
//!   need no search. With [`Settings::mutual`] off, every ticket searches in every interval.
//! - Older tickets search first. Candidates are preferred by the score of the query, then by age.
//!
//! # Cost
//!
//! A search reads the postings of the most selective clause of its query or range, and stops after enough candidates
//! (see [`limits`]). The work of an interval is limited by [`Settings::work_max`]; the remaining tickets search in the
//! next one, before others.

mod backfill;
mod blocks;
mod candidate;
mod decision;
mod error;
pub(crate) mod functions;
mod group;
pub mod limits;
mod message;
mod metrics;
mod pool;
mod run;
mod seats;
pub(crate) mod serve;
mod service;
mod stats;
mod ticket;
mod widening;

pub use backfill::BackfillRequest;
pub use candidate::{
    Candidate, CandidateId, CandidateTicket, Decision, Delivery, MatchTarget, Matched, MatchedUser, Output,
};
pub use decision::{MatchPlan, MatchedAnswer, MatchedHook, decide};
pub use error::MatchmakerError;
pub(crate) use service::ServiceParts;
pub use service::{MatchmakerService, RunPart, ServiceSettings};
pub use stats::{Completion, MatchmakerStats, RunStats};
pub use ticket::{NewTicket, Properties, UserPresence};

use backfill::Backfills;
use candidate::HeldCandidate;
use limits::{TICKETS_MAX, TICKETS_PER_SESSION_MAX, TICKETS_PER_USER_MAX};
use pool::{Pool, Shares};
use seats::Seats;
use stats::Counters;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use ticket::TicketKey;
use uuid::Uuid;

/// Settings of the matchmaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Time between two searches of a waiting ticket, in milliseconds. Shorter ones widen ranges in finer steps and take
    /// more time of the processor.
    pub interval_ms: i64,
    /// Intervals after which a ticket accepts its minimum count. Until then it waits for the maximum.
    pub max_intervals: u32,
    /// True if a match needs every ticket to accept every other. Otherwise the ticket that searches decides.
    pub mutual: bool,
    /// True if a user may be in a match once only, whatever the number of their sessions.
    pub distinct_users: bool,
    /// Most tickets of a session.
    pub tickets_per_session_max: usize,
    /// Most tickets of a user.
    pub tickets_per_user_max: usize,
    /// Most tickets of the server.
    pub tickets_max: usize,
    /// Time for which a match keeps a seat for a matched player, in milliseconds.
    pub seat_ms: i64,
    /// Most work of an interval, in comparisons. A million takes 30 to 60 milliseconds.
    pub work_max: u64,
}

/// State of the matchmaker.
pub struct Matchmaker {
    settings: Settings,
    pool: Pool,
    /// Tickets that arrived or came back since the last run.
    arrivals: Vec<TicketKey>,
    /// Tickets that have to search, in this order.
    queue: VecDeque<TicketKey>,
    /// Times at which tickets search again: starts of intervals.
    wakes: BTreeSet<(i64, TicketKey)>,
    candidates: BTreeMap<u64, HeldCandidate>,
    next_candidate: u64,
    outputs: VecDeque<Output>,
    backfills: Backfills,
    seats: Seats,
    counters: Counters,
    /// Number of the current interval.
    interval: i64,
    /// Work that is left in the current interval.
    work_left: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            interval_ms: 1_000,
            max_intervals: 10,
            mutual: true,
            distinct_users: true,
            tickets_per_session_max: TICKETS_PER_SESSION_MAX,
            tickets_per_user_max: TICKETS_PER_USER_MAX,
            tickets_max: TICKETS_MAX,
            seat_ms: 15_000,
            work_max: 10_000_000,
        }
    }
}

impl Matchmaker {
    /// Creates a matchmaker without tickets. An interval has at least one millisecond.
    #[must_use]
    pub fn new(settings: Settings) -> Matchmaker {
        let settings = Settings { interval_ms: settings.interval_ms.max(1), ..settings };
        Matchmaker {
            work_left: settings.work_max,
            settings,
            pool: Pool::default(),
            arrivals: Vec::new(),
            queue: VecDeque::new(),
            wakes: BTreeSet::new(),
            candidates: BTreeMap::new(),
            next_candidate: 0,
            outputs: VecDeque::new(),
            backfills: Backfills::default(),
            seats: Seats::default(),
            counters: Counters::default(),
            interval: i64::MIN,
        }
    }

    /// Adds a ticket. It searches in the next run.
    pub fn add(&mut self, new: NewTicket, now_ms: i64) -> Result<(), MatchmakerError> {
        let ticket = new.into_ticket(now_ms)?;
        let shares = Shares {
            session: self.settings.tickets_per_session_max,
            user: self.settings.tickets_per_user_max,
            total: self.settings.tickets_max,
        };
        let key = self.pool.insert(ticket, shares)?;
        self.arrivals.push(key);
        self.schedule(key, now_ms);
        Ok(())
    }

    /// Removes a ticket of a session. A ticket of a party is removed with [`remove_of_party`](Self::remove_of_party).
    pub fn remove(&mut self, session: Uuid, ticket: Uuid) -> Result<(), MatchmakerError> {
        let is_own = |ticket: &ticket::Ticket| {
            ticket.party_id.is_none() && ticket.presences.iter().any(|presence| presence.session_id == session)
        };
        let key = self.pool.find(ticket).filter(|key| self.pool.get(*key).is_some_and(is_own));
        self.drop_ticket(key.ok_or(MatchmakerError::TicketNotFound)?);
        Ok(())
    }

    /// Removes one ticket of a party.
    pub fn remove_of_party(&mut self, party: &str, ticket: Uuid) -> Result<(), MatchmakerError> {
        let is_own = |ticket: &ticket::Ticket| ticket.party_id.as_deref() == Some(party);
        let key = self.pool.find(ticket).filter(|key| self.pool.get(*key).is_some_and(is_own));
        self.drop_ticket(key.ok_or(MatchmakerError::TicketNotFound)?);
        Ok(())
    }

    /// Removes all tickets of a party, because its members changed.
    pub fn remove_party(&mut self, party: &str) {
        let keys: Vec<TicketKey> = self.pool.of_party(party).collect();
        keys.into_iter().for_each(|key| self.drop_ticket(key));
    }

    /// Removes all tickets of a session that ended, including those of its parties.
    pub fn end_session(&mut self, session: Uuid) {
        let keys: Vec<TicketKey> = self.pool.of_session(session).collect();
        keys.into_iter().for_each(|key| self.drop_ticket(key));
    }

    /// Returns the next output of a run.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Decides on a candidate, and returns the messages to its players.
    ///
    /// The seats of the match are reserved. A candidate whose ticket was removed in the meantime does not exist any more;
    /// the caller then ends the match that it created for it.
    pub fn resolve(
        &mut self,
        id: CandidateId,
        decision: Decision,
        now_ms: i64,
    ) -> Result<Vec<Delivery<Matched>>, MatchmakerError> {
        let held = self.candidates.get(&id.0).ok_or(MatchmakerError::CandidateNotFound)?;
        let (accepted, target) = match decision {
            Decision::Accept(target) => (held.keys.clone(), Some(target)),
            Decision::AcceptOnly(tickets, target) => (self.chosen(held, &tickets)?, Some(target)),
            Decision::Release => (Vec::new(), None),
        };
        let held = self.candidates.remove(&id.0).ok_or(MatchmakerError::CandidateNotFound)?;
        let mut freed = 0;
        for key in held.keys.iter().filter(|key| !accepted.contains(key)) {
            freed += self.pool.get(*key).map_or(0, ticket::Ticket::count);
            self.release(*key);
            self.wake_next_interval(*key, now_ms);
        }
        if let Some(match_id) = held.backfill.as_ref().filter(|_| freed > 0) {
            self.backfills.open(match_id, freed);
            self.backfills.search_later(match_id);
        }
        match target {
            Some(target) => Ok(self.complete(&accepted, held.backfill.is_some(), &target, now_ms)),
            None => Ok(Vec::new()),
        }
    }

    /// Adds or replaces the request of a running match for more players.
    pub fn request_backfill(&mut self, request: BackfillRequest) -> Result<(), MatchmakerError> {
        self.backfills.insert(request)
    }

    /// Removes the request of a match. Candidates for it are still decided on. Returns false if there is none.
    pub fn cancel_backfill(&mut self, match_id: &str) -> bool {
        self.backfills.remove(match_id)
    }

    /// Takes the reserved seat of a user who joins a match. Returns false if there is none, or its time is over.
    pub fn claim_seat(&mut self, match_id: &str, user: Uuid) -> bool {
        let is_reserved = self.seats.release(match_id, user);
        let is_done = |backfill: &backfill::Backfill| backfill.open == 0;
        let has_candidate =
            |held: &HeldCandidate| held.backfill.as_deref().is_some_and(|backfill| backfill == match_id);
        if is_reserved
            && self.seats.of_match(match_id) == 0
            && self.backfills.get(match_id).is_some_and(is_done)
            && !self.candidates.values().any(has_candidate)
        {
            self.backfills.remove(match_id);
        }
        is_reserved
    }

    /// Returns true if a match keeps a seat for a user.
    #[must_use]
    pub fn has_seat(&self, match_id: &str, user: Uuid) -> bool {
        self.seats.has(match_id, user)
    }

    /// Number of reserved seats of a match.
    #[must_use]
    pub fn reserved_seats(&self, match_id: &str) -> usize {
        self.seats.of_match(match_id)
    }

    /// Removes the seats and the request of a match that ended.
    pub fn end_match(&mut self, match_id: &str) {
        self.seats.end_match(match_id);
        self.backfills.remove(match_id);
    }

    /// Records the time that the caller measured for the last run.
    pub fn note_run_time(&mut self, time: Duration) {
        self.counters.last_run.time = Some(time);
    }

    /// Returns the current numbers.
    #[must_use]
    pub fn stats(&self) -> MatchmakerStats {
        MatchmakerStats {
            tickets: self.pool.len(),
            players: self.pool.players(),
            oldest_created_ms: self.pool.oldest_ms(),
            candidates: self.candidates.len(),
            backfills: self.backfills.len(),
            seats: self.seats.len(),
            matches: self.counters.matches,
            backfilled: self.counters.backfilled,
            completions: self.counters.completions.iter().copied().collect(),
            last_run: self.counters.last_run,
        }
    }

    /// Numbers of tickets, backfills and reserved seats.
    fn sizes(&self) -> (usize, usize, usize) {
        (self.pool.len(), self.backfills.len(), self.seats.len())
    }

    /// Keys of the named tickets of a candidate, in its order.
    fn chosen(&self, held: &HeldCandidate, tickets: &[Uuid]) -> Result<Vec<TicketKey>, MatchmakerError> {
        let named: BTreeSet<TicketKey> = tickets.iter().filter_map(|ticket| self.pool.find(*ticket)).collect();
        let chosen: Vec<TicketKey> = held.keys.iter().filter(|key| named.contains(key)).copied().collect();
        let is_valid = !chosen.is_empty() && chosen.len() == tickets.len();
        if is_valid { Ok(chosen) } else { Err(MatchmakerError::NotInCandidate) }
    }

    /// Removes the tickets of a match, reserves its seats and returns the messages to its players.
    fn complete(
        &mut self,
        keys: &[TicketKey],
        is_backfill: bool,
        target: &MatchTarget,
        now_ms: i64,
    ) -> Vec<Delivery<Matched>> {
        let tickets: Vec<ticket::Ticket> = keys.iter().filter_map(|key| self.take(*key)).collect();
        let matched: Vec<CandidateTicket> = tickets.iter().map(CandidateTicket::of).collect();
        let users: Arc<[MatchedUser]> = matched.iter().flat_map(|ticket| ticket.users.iter().cloned()).collect();
        let until_ms = now_ms.saturating_add(self.settings.seat_ms);
        for user in users.iter() {
            self.seats.reserve(&target.match_id, user.presence.user_id, until_ms);
        }
        for ticket in &tickets {
            self.counters.complete(ticket.created_ms, now_ms);
        }
        if is_backfill {
            self.counters.backfilled += 1;
        } else {
            self.counters.matches += 1;
        }
        let owners = matched.iter().flat_map(|ticket| ticket.users.iter().map(|user| (ticket.ticket, user)));
        let deliveries = owners.enumerate().map(|(own, (ticket, user))| Delivery {
            to: vec![user.presence.session_id],
            event: Matched { ticket, target: target.clone(), users: Arc::clone(&users), own },
        });
        deliveries.collect()
    }

    /// Removes a ticket, and dissolves its candidate.
    fn drop_ticket(&mut self, key: TicketKey) {
        let Some(ticket) = self.take(key) else { return };
        let Some(held) = ticket.held_by.and_then(|id| self.candidates.remove(&id)) else { return };
        self.outputs.retain(|output| match output {
            Output::Candidate(candidate) => Some(candidate.id.0) != ticket.held_by,
            Output::SeatsFreed { .. } => true,
        });
        let mut freed = ticket.count();
        for other in held.keys.into_iter().filter(|other| *other != key) {
            freed += self.pool.get(other).map_or(0, ticket::Ticket::count);
            self.release(other);
            self.arrivals.push(other);
        }
        if let Some(match_id) = &held.backfill {
            self.backfills.open(match_id, freed);
        }
    }

    /// Returns a ticket of a candidate to the searches.
    fn release(&mut self, key: TicketKey) {
        if let Some(ticket) = self.pool.get_mut(key) {
            ticket.held_by = None;
            self.pool.show(key);
        }
    }
}
