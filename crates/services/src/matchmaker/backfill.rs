//! Requests of running matches for more players.

use super::error::MatchmakerError;
use super::limits::{BACKFILLS_MAX, COUNT_MAX};
use super::ticket::{self, Properties, Ticket};
use aether_query::{Document, DocumentIndex, Query};
use std::collections::{BTreeMap, BTreeSet};

/// Request of a running match for more players.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BackfillRequest {
    /// Match that asks.
    pub match_id: String,
    /// Players that it has.
    pub players: usize,
    /// Players that it wants in addition.
    pub seats: usize,
    /// Query that tickets have to match. Empty accepts all.
    pub query: String,
    /// Properties of the match, which the queries of tickets have to accept.
    pub properties: Properties,
}

/// A match that asks for players.
#[derive(Debug)]
pub(super) struct Backfill {
    pub query: Query,
    pub properties: Properties,
    pub document: Document,
    /// Seats that are neither taken nor reserved nor held by a candidate.
    pub open: usize,
    /// Players of the match with all seats taken.
    pub size: usize,
}

/// All matches that ask for players.
#[derive(Debug, Default)]
pub(super) struct Backfills {
    by_match: BTreeMap<String, Backfill>,
    /// Matches with open seats.
    index: DocumentIndex<String>,
    /// Matches that have to search the tickets.
    active: BTreeSet<String>,
    /// Matches that search again in the next interval.
    later: BTreeSet<String>,
}

impl Backfills {
    /// Adds the request of a match, or replaces it.
    pub fn insert(&mut self, request: BackfillRequest) -> Result<(), MatchmakerError> {
        let size = request.players.saturating_add(request.seats);
        if request.seats == 0 || size > COUNT_MAX {
            return Err(MatchmakerError::Seats);
        }
        if !self.by_match.contains_key(&request.match_id) && self.by_match.len() >= BACKFILLS_MAX {
            return Err(MatchmakerError::Full);
        }
        let query = ticket::parse_query(&request.query)?;
        request.properties.check()?;
        let builder = Document::builder()
            .text("match_id", &request.match_id)
            .number("min_count", size as f64)
            .number("max_count", size as f64);
        let document = ticket::document(builder, &request.properties);
        let backfill = Backfill { query, properties: request.properties, document, open: 0, size };
        self.by_match.insert(request.match_id.clone(), backfill);
        self.open(&request.match_id, request.seats);
        Ok(())
    }

    /// Removes the request of a match. Returns false if there is none.
    pub fn remove(&mut self, match_id: &str) -> bool {
        self.index.remove(&match_id.to_owned());
        self.active.remove(match_id);
        self.by_match.remove(match_id).is_some()
    }

    /// Returns seats to a request, if it still exists.
    pub fn open(&mut self, match_id: &str, seats: usize) {
        if let Some(backfill) = self.by_match.get_mut(match_id).filter(|_| seats > 0) {
            backfill.open += seats;
            self.index.insert(match_id.to_owned(), backfill.document.clone());
            self.active.insert(match_id.to_owned());
        }
    }

    /// Takes open seats.
    pub fn take(&mut self, match_id: &str, seats: usize) {
        if let Some(backfill) = self.by_match.get_mut(match_id) {
            backfill.open = backfill.open.saturating_sub(seats);
            if backfill.open == 0 {
                self.index.remove(&match_id.to_owned());
                self.active.remove(match_id);
            }
        }
    }

    /// Takes a match that has to search the tickets.
    pub fn next_active(&mut self) -> Option<String> {
        self.active.pop_first()
    }

    /// Makes a match search again in the next interval.
    pub fn search_later(&mut self, match_id: &str) {
        self.active.remove(match_id);
        self.later.insert(match_id.to_owned());
    }

    /// Starts an interval: matches that were to search later have to search.
    pub fn start_interval(&mut self) {
        let is_open = |match_id: &String| self.by_match.get(match_id).is_some_and(|backfill| backfill.open > 0);
        self.active.extend(std::mem::take(&mut self.later).into_iter().filter(is_open));
    }

    /// Returns true if a match searches again in the next interval.
    pub fn has_later(&self) -> bool {
        !self.later.is_empty()
    }

    pub fn has_active(&self) -> bool {
        !self.active.is_empty()
    }

    pub fn get(&self, match_id: &str) -> Option<&Backfill> {
        self.by_match.get(match_id)
    }

    pub fn len(&self) -> usize {
        self.by_match.len()
    }

    /// Finds the match with open seats that suits a ticket best. The work is that of the checks.
    pub fn find_for(&self, ticket: &Ticket, waited_ms: i64, work: &mut u64) -> Option<&str> {
        if self.index.is_empty() {
            return None;
        }
        let mut best: Option<(f64, &str)> = None;
        let mut consider = |match_id: &str| {
            let Some((match_id, backfill)) = self.by_match.get_key_value(match_id) else { return };
            *work = work.saturating_sub(ticket.check_cost() + backfill.check_cost());
            if let Some(score) = backfill.suits(ticket, waited_ms)
                && best.is_none_or(|(best, _)| score > best)
            {
                best = Some((score, match_id));
            }
        };
        match self.index.candidates(&ticket.query) {
            Some(mut matches) => {
                matches.sort_unstable();
                matches.iter().for_each(|match_id| consider(match_id));
            }
            None => self.by_match.keys().for_each(|match_id| consider(match_id)),
        }
        best.map(|(_, match_id)| match_id)
    }
}

impl Backfill {
    /// Returns the score of the match for a ticket, unless one of them refuses the other.
    pub fn suits(&self, ticket: &Ticket, waited_ms: i64) -> Option<f64> {
        if ticket.count() > self.open || !ticket.counts.allows(self.size) {
            return None;
        }
        let score = ticket.accepts(&self.document, &self.properties, waited_ms)?;
        self.query.matches(&ticket.document).map(|_| score.value())
    }

    /// Work of a check of a ticket, in comparisons.
    pub fn check_cost(&self) -> u64 {
        (1 + self.query.cost()) as u64
    }
}
