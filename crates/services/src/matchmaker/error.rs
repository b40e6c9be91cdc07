//! Errors of the matchmaker.

use super::limits::{
    COUNT_MAX, PROPERTIES_MAX, PROPERTY_NAME_BYTES_MAX, PROPERTY_TEXT_BYTES_MAX, QUERY_BYTES_MAX, QUERY_COST_MAX,
    WIDENED_MAX,
};
use crate::error::{GrpcCode, ServiceError};
use aether_query::QueryError;
use std::fmt;

/// Reason why a request to the matchmaker is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchmakerError {
    /// The minimum count is below two.
    MinCount,
    /// The maximum count is below the minimum, or above the limit.
    MaxCount,
    /// The count multiple is zero, or does not divide minimum and maximum.
    CountMultiple,
    /// The ticket has no player.
    NoPlayers,
    /// The party has more members than the match may have.
    PartyTooLarge,
    /// A session or a user is in the ticket twice.
    DuplicatePlayer,
    /// The query is longer than allowed: its length in bytes.
    QueryTooLong(usize),
    /// The query takes more work than allowed.
    QueryTooCostly(usize),
    /// The query is malformed.
    Query(QueryError),
    /// The ticket has too many properties.
    TooManyProperties(usize),
    /// The name of a property is empty or too long.
    PropertyName(String),
    /// The text of this property is too long.
    PropertyTooLong(String),
    /// The properties have too many bytes: their number, and the limit for the maximum count of the ticket.
    PropertiesTooLarge(usize, usize),
    /// The number of this property is not finite.
    PropertyNotFinite(String),
    /// A `widen` property is malformed, or has no property that it widens.
    Widening(String),
    /// Too many properties widen.
    TooManyWidenings,
    /// The session or the user has too many tickets.
    TooManyTickets,
    /// The server has too many tickets.
    Full,
    /// The ticket does not exist, or belongs to someone else.
    TicketNotFound,
    /// The id of the new ticket is in use.
    DuplicateTicket,
    /// The candidate does not exist any more: a player left, or it was resolved.
    CandidateNotFound,
    /// A decision names a ticket that is not in the candidate, or none.
    NotInCandidate,
    /// The number of players that a match asks for is zero or too large.
    Seats,
    /// The match does not ask for players.
    BackfillNotFound,
}

impl MatchmakerError {
    /// Returns the label for metrics.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            MatchmakerError::MinCount => "min_count",
            MatchmakerError::MaxCount => "max_count",
            MatchmakerError::CountMultiple => "count_multiple",
            MatchmakerError::NoPlayers => "no_players",
            MatchmakerError::PartyTooLarge => "party_too_large",
            MatchmakerError::DuplicatePlayer => "duplicate_player",
            MatchmakerError::QueryTooLong(_) => "query_too_long",
            MatchmakerError::QueryTooCostly(_) => "query_too_costly",
            MatchmakerError::Query(_) => "query",
            MatchmakerError::TooManyProperties(_) => "too_many_properties",
            MatchmakerError::PropertyName(_) => "property_name",
            MatchmakerError::PropertyTooLong(_) => "property_too_long",
            MatchmakerError::PropertiesTooLarge(..) => "properties_too_large",
            MatchmakerError::PropertyNotFinite(_) => "property_not_finite",
            MatchmakerError::Widening(_) => "widening",
            MatchmakerError::TooManyWidenings => "too_many_widenings",
            MatchmakerError::TooManyTickets => "too_many_tickets",
            MatchmakerError::Full => "full",
            MatchmakerError::TicketNotFound => "ticket_not_found",
            MatchmakerError::DuplicateTicket => "duplicate_ticket",
            MatchmakerError::CandidateNotFound => "candidate_not_found",
            MatchmakerError::NotInCandidate => "not_in_candidate",
            MatchmakerError::Seats => "seats",
            MatchmakerError::BackfillNotFound => "backfill_not_found",
        }
    }
}

impl fmt::Display for MatchmakerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MatchmakerError::MinCount => write!(f, "Invalid minimum count: use 2 or more."),
            MatchmakerError::MaxCount => {
                write!(f, "Invalid maximum count: use at least the minimum count, and at most {COUNT_MAX}.")
            }
            MatchmakerError::CountMultiple => {
                write!(
                    f,
                    "Invalid count multiple: use 1 or more, so that it divides the minimum and the maximum count."
                )
            }
            MatchmakerError::NoPlayers => write!(f, "The ticket has no players."),
            MatchmakerError::PartyTooLarge => {
                write!(f, "The party has more members than the maximum count. Raise the count, or use a smaller party.")
            }
            MatchmakerError::DuplicatePlayer => write!(f, "A player is in the ticket twice."),
            MatchmakerError::QueryTooLong(bytes) => {
                write!(f, "The matchmaker query has {bytes} bytes. Use at most {QUERY_BYTES_MAX}.")
            }
            MatchmakerError::QueryTooCostly(cost) => write!(
                f,
                "The matchmaker query is too costly ({cost} of {QUERY_COST_MAX}). Use fewer clauses, wildcards and \
                 regular expressions."
            ),
            MatchmakerError::Query(error) => write!(f, "Invalid matchmaker query: {error}"),
            MatchmakerError::TooManyProperties(count) => {
                write!(f, "The ticket has {count} properties. Use at most {PROPERTIES_MAX}.")
            }
            MatchmakerError::PropertyName(name) => {
                write!(f, "Property name `{name}` is invalid. Use 1 to {PROPERTY_NAME_BYTES_MAX} bytes.")
            }
            MatchmakerError::PropertyTooLong(name) => {
                write!(f, "Property `{name}` is too long. Use at most {PROPERTY_TEXT_BYTES_MAX} bytes.")
            }
            MatchmakerError::PropertiesTooLarge(bytes, limit) => {
                write!(f, "The properties have {bytes} bytes. Use at most {limit}: fewer for a larger maximum count.")
            }
            MatchmakerError::PropertyNotFinite(name) => write!(f, "Property `{name}` is not a finite number."),
            MatchmakerError::Widening(name) => write!(
                f,
                "Property `{name}` is invalid. Widen a numeric property `x` of the ticket by `widen.x.from`, \
                 `widen.x.by` and `widen.x.to`, none of them negative."
            ),
            MatchmakerError::TooManyWidenings => write!(f, "Too many properties widen. Use at most {WIDENED_MAX}."),
            MatchmakerError::TooManyTickets => {
                write!(f, "Too many matchmaker tickets. Remove one, or wait until it matches.")
            }
            MatchmakerError::Full => write!(f, "The matchmaker is full. Try again later."),
            MatchmakerError::TicketNotFound => write!(f, "Matchmaker ticket not found. It may have matched."),
            MatchmakerError::DuplicateTicket => write!(f, "The matchmaker ticket exists already."),
            MatchmakerError::CandidateNotFound => write!(f, "The match candidate does not exist any more."),
            MatchmakerError::NotInCandidate => write!(f, "The decision names no ticket of the match candidate."),
            MatchmakerError::Seats => write!(f, "Invalid number of seats: use 1 to {COUNT_MAX}."),
            MatchmakerError::BackfillNotFound => write!(f, "The match does not ask for players."),
        }
    }
}

impl std::error::Error for MatchmakerError {}

impl From<MatchmakerError> for ServiceError {
    fn from(error: MatchmakerError) -> ServiceError {
        let code = match error {
            MatchmakerError::TooManyTickets => GrpcCode::ResourceExhausted,
            MatchmakerError::Full => GrpcCode::Unavailable,
            MatchmakerError::TicketNotFound
            | MatchmakerError::CandidateNotFound
            | MatchmakerError::BackfillNotFound => GrpcCode::NotFound,
            _ => GrpcCode::InvalidArgument,
        };
        ServiceError::with(code, error.to_string())
    }
}
