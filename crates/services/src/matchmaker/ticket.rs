//! Tickets: their form in a request, and in the pool.

use super::error::MatchmakerError;
use super::limits::{
    COUNT_MAX, MATCH_PROPERTIES_BYTES_MAX, PROPERTIES_BYTES_MAX, PROPERTIES_MAX, PROPERTY_EXTRA_BYTES,
    PROPERTY_NAME_BYTES_MAX, PROPERTY_TEXT_BYTES_MAX, QUERY_BYTES_MAX, QUERY_COST_MAX,
};
use super::widening::Widening;
use aether_query::{Document, DocumentBuilder, MatchScore, Query};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// One session of a user, as other players see it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserPresence {
    /// User.
    pub user_id: Uuid,
    /// Session, which is one socket.
    pub session_id: Uuid,
    /// Username.
    pub username: String,
}

/// Properties of a ticket or of a running match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties {
    /// Texts, matched by queries as `properties.name`.
    pub strings: BTreeMap<String, String>,
    /// Numbers, matched by queries as `properties.name`.
    pub numbers: BTreeMap<String, f64>,
}

/// Request for a ticket.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTicket {
    /// Id of the ticket, unique.
    pub id: Uuid,
    /// Players, who stay together: one, or the members of a party.
    pub presences: Vec<UserPresence>,
    /// Party of the players.
    pub party_id: Option<String>,
    /// Query that other tickets have to match. Empty accepts all.
    pub query: String,
    /// Fewest players of the match.
    pub min_count: usize,
    /// Most players of the match.
    pub max_count: usize,
    /// Number that divides the number of players of the match.
    pub count_multiple: usize,
    /// Properties, which queries of other tickets match.
    pub properties: Properties,
    /// Users who are not matched with this ticket, because a player of it blocks them.
    pub blocked: BTreeSet<Uuid>,
}

/// A ticket that waits for a match.
#[derive(Clone, Debug)]
pub(super) struct Ticket {
    pub id: Uuid,
    pub presences: Vec<UserPresence>,
    pub party_id: Option<String>,
    pub counts: Counts,
    pub properties: Properties,
    pub blocked: BTreeSet<Uuid>,
    pub query: Query,
    pub widenings: Vec<Widening>,
    pub document: Document,
    pub created_ms: i64,
    /// Candidate that holds the ticket; it is then not searched.
    pub held_by: Option<u64>,
    /// True while the ticket is in the queue of searches.
    pub is_queued: bool,
    /// Time at which the ticket searches again by itself.
    pub wakes_ms: Option<i64>,
    /// Search position, if the last search stopped before the last candidate.
    pub resume_after: Option<TicketKey>,
    /// Number of candidates that the next search skips at first, because searches gave up.
    pub cuts: usize,
}

/// Sizes of matches that a ticket accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub min: usize,
    pub max: usize,
    pub multiple: usize,
}

/// Position of a ticket in the pool. Keys are ordered by age, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TicketKey {
    pub age: u64,
    pub slot: u32,
}

impl NewTicket {
    /// Checks the request and makes a ticket of it.
    pub(super) fn into_ticket(self, now_ms: i64) -> Result<Ticket, MatchmakerError> {
        let counts = Counts { min: self.min_count, max: self.max_count, multiple: self.count_multiple };
        counts.check()?;
        check_presences(&self.presences, counts.max)?;
        let query = parse_query(&self.query)?;
        self.properties.check()?;
        self.properties.check_bytes(counts.max)?;
        let widenings = Widening::all_of(&self.properties.numbers)?;
        let builder = self.party_id.iter().fold(Document::builder(), |builder, party| builder.text("party_id", party));
        let builder = builder
            .text("ticket", &self.id.to_string())
            .number("min_count", counts.min as f64)
            .number("max_count", counts.max as f64)
            .time("created_at", now_ms.saturating_mul(1_000));
        Ok(Ticket {
            id: self.id,
            document: document(builder, &self.properties),
            presences: self.presences,
            party_id: self.party_id,
            counts,
            properties: self.properties,
            blocked: self.blocked,
            query,
            widenings,
            created_ms: now_ms,
            held_by: None,
            is_queued: false,
            wakes_ms: None,
            resume_after: None,
            cuts: 0,
        })
    }
}

impl Ticket {
    /// Number of players.
    pub fn count(&self) -> usize {
        self.presences.len()
    }

    /// Returns the score of a document, unless the query or a range refuses it.
    pub fn accepts(&self, document: &Document, properties: &Properties, waited_ms: i64) -> Option<MatchScore> {
        let in_ranges = self.widenings.iter().all(|widening| widening.accepts(properties, waited_ms));
        in_ranges.then(|| self.query.matches(document)).flatten()
    }

    /// Returns true if a player blocks one of another ticket.
    pub fn blocks(&self, other: &Ticket) -> bool {
        !self.blocked.is_empty() && other.presences.iter().any(|presence| self.blocked.contains(&presence.user_id))
    }

    /// Work of [`accepts`](Self::accepts), in comparisons.
    pub fn check_cost(&self) -> u64 {
        (1 + self.query.cost() + self.widenings.len()) as u64
    }
}

impl Counts {
    fn check(self) -> Result<(), MatchmakerError> {
        if self.min < 2 {
            return Err(MatchmakerError::MinCount);
        }
        if self.max < self.min || self.max > COUNT_MAX {
            return Err(MatchmakerError::MaxCount);
        }
        let divides = |count: usize| count.checked_rem(self.multiple) == Some(0);
        if divides(self.min) && divides(self.max) { Ok(()) } else { Err(MatchmakerError::CountMultiple) }
    }

    /// Returns true if a match may have this number of players.
    pub fn allows(self, size: usize) -> bool {
        (self.min..=self.max).contains(&size) && size.is_multiple_of(self.multiple)
    }
}

impl Properties {
    /// Checks the number, names and lengths of the properties.
    pub(super) fn check(&self) -> Result<(), MatchmakerError> {
        let count = self.strings.len() + self.numbers.len();
        if count > PROPERTIES_MAX {
            return Err(MatchmakerError::TooManyProperties(count));
        }
        for name in self.strings.keys().chain(self.numbers.keys()) {
            if name.is_empty() || name.len() > PROPERTY_NAME_BYTES_MAX {
                return Err(MatchmakerError::PropertyName(name.chars().take(PROPERTY_NAME_BYTES_MAX).collect()));
            }
        }
        if let Some((name, _)) = self.strings.iter().find(|(_, text)| text.len() > PROPERTY_TEXT_BYTES_MAX) {
            return Err(MatchmakerError::PropertyTooLong(name.clone()));
        }
        match self.numbers.iter().find(|(_, number)| !number.is_finite()) {
            Some((name, _)) => Err(MatchmakerError::PropertyNotFinite(name.clone())),
            None => Ok(()),
        }
    }
}

impl Properties {
    /// Checks the size of the properties of a ticket for matches of up to this many players.
    fn check_bytes(&self, count_max: usize) -> Result<(), MatchmakerError> {
        let strings = self.strings.iter().map(|(name, text)| PROPERTY_EXTRA_BYTES + name.len() + text.len());
        let numbers = self.numbers.keys().map(|name| PROPERTY_EXTRA_BYTES + name.len() + size_of::<f64>());
        let bytes: usize = strings.chain(numbers).sum();
        let limit = PROPERTIES_BYTES_MAX.min(MATCH_PROPERTIES_BYTES_MAX / count_max.max(1));
        if bytes <= limit { Ok(()) } else { Err(MatchmakerError::PropertiesTooLarge(bytes, limit)) }
    }
}

/// Parses a query within the limits of the matchmaker.
pub(super) fn parse_query(text: &str) -> Result<Query, MatchmakerError> {
    if text.len() > QUERY_BYTES_MAX {
        return Err(MatchmakerError::QueryTooLong(text.len()));
    }
    let query = Query::parse(text).map_err(MatchmakerError::Query)?;
    match query.cost() {
        cost if cost > QUERY_COST_MAX => Err(MatchmakerError::QueryTooCostly(cost)),
        _ => Ok(query),
    }
}

/// Completes a document with properties, except those that describe ranges.
pub(super) fn document(builder: DocumentBuilder, properties: &Properties) -> Document {
    let texts = properties.strings.iter();
    let builder = texts.fold(builder, |builder, (name, text)| builder.text(&format!("properties.{name}"), text));
    let numbers = properties.numbers.iter().filter(|(name, _)| !Widening::is_name(name));
    let builder =
        numbers.fold(builder, |builder, (name, number)| builder.number(&format!("properties.{name}"), *number));
    builder.build().expect("checked properties are within the limits of documents")
}

fn check_presences(presences: &[UserPresence], max: usize) -> Result<(), MatchmakerError> {
    if presences.is_empty() {
        return Err(MatchmakerError::NoPlayers);
    }
    if presences.len() > max {
        return Err(MatchmakerError::PartyTooLarge);
    }
    let sessions: BTreeSet<Uuid> = presences.iter().map(|presence| presence.session_id).collect();
    let users: BTreeSet<Uuid> = presences.iter().map(|presence| presence.user_id).collect();
    if sessions.len() < presences.len() || users.len() < presences.len() {
        return Err(MatchmakerError::DuplicatePlayer);
    }
    Ok(())
}
