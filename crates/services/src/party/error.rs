//! Errors of parties.

use super::limits::{DATA_BYTES_MAX, LABEL_BYTES_MAX, LISTED_MAX, PARTIES_PER_SESSION_MAX, SIZE_MAX};
use crate::error::{GrpcCode, ServiceError};
use crate::matchmaker::MatchmakerError;
use aether_query::QueryError;
use std::fmt;

/// Reason why a request about a party is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartyError {
    /// The maximum size is zero or too large.
    MaxSize,
    /// The label is too long: its length in bytes.
    LabelTooLong(usize),
    /// The label is not a JSON object, or has too many values.
    LabelInvalid,
    /// The id of the new party is in use.
    Duplicate,
    /// The session is in too many parties.
    TooManyParties,
    /// The server has too many parties.
    ServerFull,
    /// The party does not exist.
    NotFound,
    /// The party has no room for another member.
    Full,
    /// The party has no room for another join request.
    RequestsFull,
    /// The user has asked to join already.
    DuplicateRequest,
    /// The user is a member already, in another session.
    AlreadyMember,
    /// Only the leader may do this.
    NotLeader,
    /// The presence is not a member.
    NotMember,
    /// The presence has not asked to join.
    NotRequested,
    /// The leader cannot remove their own presence.
    RemoveSelf,
    /// The data is too long: its length in bytes.
    DataTooLong(usize),
    /// The limit of a list is out of range.
    Limit,
    /// The query of a list is malformed.
    Query(QueryError),
    /// The cursor of a list is malformed, or belongs to another query.
    Cursor,
    /// The matchmaker refused the request.
    Matchmaker(MatchmakerError),
}

impl PartyError {
    /// Returns the label for metrics.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            PartyError::MaxSize => "max_size",
            PartyError::LabelTooLong(_) => "label_too_long",
            PartyError::LabelInvalid => "label_invalid",
            PartyError::Duplicate => "duplicate",
            PartyError::TooManyParties => "too_many_parties",
            PartyError::ServerFull => "server_full",
            PartyError::NotFound => "not_found",
            PartyError::Full => "full",
            PartyError::RequestsFull => "requests_full",
            PartyError::DuplicateRequest => "duplicate_request",
            PartyError::AlreadyMember => "already_member",
            PartyError::NotLeader => "not_leader",
            PartyError::NotMember => "not_member",
            PartyError::NotRequested => "not_requested",
            PartyError::RemoveSelf => "remove_self",
            PartyError::DataTooLong(_) => "data_too_long",
            PartyError::Limit => "limit",
            PartyError::Query(_) => "query",
            PartyError::Cursor => "cursor",
            PartyError::Matchmaker(error) => error.label(),
        }
    }
}

impl fmt::Display for PartyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartyError::MaxSize => write!(f, "Invalid party max size: use 1 to {SIZE_MAX}."),
            PartyError::LabelTooLong(bytes) => {
                write!(f, "The party label has {bytes} bytes. Use at most {LABEL_BYTES_MAX}.")
            }
            PartyError::LabelInvalid => write!(f, "Invalid party label: use a JSON object."),
            PartyError::Duplicate => write!(f, "The party exists already."),
            PartyError::TooManyParties => {
                write!(f, "Too many parties. Leave one of your {PARTIES_PER_SESSION_MAX} first.")
            }
            PartyError::ServerFull => write!(f, "The server has too many parties. Try again later."),
            PartyError::NotFound => write!(f, "Party not found. It may have closed."),
            PartyError::Full => write!(f, "The party is full."),
            PartyError::RequestsFull => write!(f, "The party has too many join requests. Try again later."),
            PartyError::DuplicateRequest => {
                write!(f, "You have already asked to join the party. Wait for its leader to accept.")
            }
            PartyError::AlreadyMember => write!(f, "You are already in the party, in another session."),
            PartyError::NotLeader => write!(f, "Only the party leader may do this."),
            PartyError::NotMember => write!(f, "Party member not found."),
            PartyError::NotRequested => write!(f, "Party join request not found."),
            PartyError::RemoveSelf => write!(f, "The party leader cannot remove their own presence. Leave instead."),
            PartyError::DataTooLong(bytes) => {
                write!(f, "The party data has {bytes} bytes. Use at most {DATA_BYTES_MAX}.")
            }
            PartyError::Limit => write!(f, "Invalid limit: use 1 to {LISTED_MAX}."),
            PartyError::Query(error) => write!(f, "Invalid party query: {error}"),
            PartyError::Cursor => write!(f, "Cursor is invalid, or belongs to another query."),
            PartyError::Matchmaker(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PartyError {}

impl From<MatchmakerError> for PartyError {
    fn from(error: MatchmakerError) -> PartyError {
        PartyError::Matchmaker(error)
    }
}

impl From<PartyError> for ServiceError {
    fn from(error: PartyError) -> ServiceError {
        let code = match error {
            PartyError::Matchmaker(error) => return error.into(),
            PartyError::TooManyParties => GrpcCode::ResourceExhausted,
            PartyError::ServerFull => GrpcCode::Unavailable,
            PartyError::NotFound | PartyError::NotMember | PartyError::NotRequested => GrpcCode::NotFound,
            PartyError::NotLeader => GrpcCode::PermissionDenied,
            PartyError::Full | PartyError::RequestsFull => GrpcCode::FailedPrecondition,
            PartyError::DuplicateRequest | PartyError::AlreadyMember | PartyError::Duplicate => GrpcCode::AlreadyExists,
            _ => GrpcCode::InvalidArgument,
        };
        ServiceError::with(code, error.to_string())
    }
}
