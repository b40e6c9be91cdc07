//! Matches: the rooms that clients play in, as the services use them.

mod functions;
mod member;
pub(crate) mod serve;
mod watch;

pub use functions::register_functions;
pub use member::{JoinMatch, JoinedMatch, MatchSelector, MatchVisitor, SentData, authoritative_stream, relayed_stream};
pub use serve::selector_of;

pub use watch::{MatchListChanges, list_stream};

use crate::error::{GrpcCode, ServiceError};
use aether_query::Query;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use uuid::Uuid;

/// Maximum number of matches in one list.
pub const MATCHES_LISTED_MAX: usize = 100;

/// Maximum bytes of the parameters of a match, as JSON. They are stored with a durable match and are in its recording.
pub const MATCH_PARAMS_BYTES_MAX: usize = 65_536;

/// Future of a call to [`Matches`].
pub type MatchesFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ServiceError>> + Send + 'a>>;

/// Matches of a server. Implemented by the host of the rooms; called by services and server code.
pub trait Matches: Send + Sync {
    /// Creates a match of a type. It ends when its game ends it, or when it is unused for the configured time.
    fn create_with<'a>(&'a self, new: &'a NewMatch) -> MatchesFuture<'a, MatchInfo>;

    /// Creates a match of a type with a label.
    fn create<'a>(&'a self, match_type: &'a str, label: &'a str) -> MatchesFuture<'a, MatchInfo> {
        let (match_type, label) = (match_type.to_owned(), label.to_owned());
        let new = NewMatch { match_type, label, ..NewMatch::default() };
        Box::pin(async move { self.create_with(&new).await })
    }

    /// Returns a running match.
    fn find<'a>(&'a self, id: &'a str) -> MatchesFuture<'a, Option<MatchInfo>>;

    /// Lists running matches, oldest first.
    fn list<'a>(&'a self, filter: &'a MatchFilter) -> MatchesFuture<'a, Vec<MatchInfo>>;

    /// Sends data to the game of a match and returns its reply.
    fn signal<'a>(&'a self, id: &'a str, data: Vec<u8>) -> MatchesFuture<'a, Vec<u8>>;

    /// Ends a match; its players get the reason.
    fn end<'a>(&'a self, id: &'a str) -> MatchesFuture<'a, ()>;

    /// Joins a match over the services socket. A session that is a member already gets the state of the match again.
    fn join(&self, join: JoinMatch) -> MatchesFuture<'_, JoinedMatch>;

    /// Leaves a match. The player cannot resume.
    fn leave(&self, id: &str, session: Uuid) -> Result<(), ServiceError>;

    /// Sends data of a member to the game of a match, or to the other members of a relayed one.
    fn send(&self, id: &str, session: Uuid, sent: &SentData<'_>) -> Result<(), ServiceError>;

    /// Removes all players of a user from a match. They cannot resume, but join again. Returns their number.
    fn kick(&self, id: &str, user: Uuid) -> Result<usize, ServiceError>;
}

/// Match type that the program or a module registers in the call table. The host of the matches downcasts it by [`Any`]
/// to its own kind.
pub trait MatchType: Any + Send + Sync {
    /// Returns the name with which matches of this type are created and joined.
    fn name(&self) -> &str;
}

/// Match to create.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewMatch {
    /// Room type.
    #[serde(rename = "type")]
    pub match_type: String,
    /// Label.
    #[serde(default)]
    pub label: String,
    /// True for a private match: it is absent from the public list, and players join it by id or code.
    #[serde(default)]
    pub private: bool,
    /// Ticks per second, instead of those of the room type.
    #[serde(default)]
    pub tick_hz: Option<u32>,
    /// Parameters for a game that is made at run time, up to [`MATCH_PARAMS_BYTES_MAX`] as JSON. Other games ignore them.
    #[serde(default)]
    pub params: Value,
}

impl NewMatch {
    /// Rejects parameters that are too long.
    pub fn check(&self) -> Result<(), ServiceError> {
        // Most matches have none.
        if self.params.is_null() || self.params.to_string().len() <= MATCH_PARAMS_BYTES_MAX {
            return Ok(());
        }
        let sentence = format!("The parameters of a match must have at most {MATCH_PARAMS_BYTES_MAX} bytes as JSON.");
        Err(ServiceError::invalid(sentence))
    }
}

/// Description of a running match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchInfo {
    /// Id, which ends with the name of the node.
    pub id: String,
    /// Room code.
    pub code: String,
    /// Room type.
    #[serde(rename = "type")]
    pub match_type: String,
    /// Label.
    pub label: String,
    /// Number of players.
    pub players: u32,
    /// Maximum number of players.
    pub players_max: usize,
    /// Ticks per second; 0 for a relay.
    pub tick_hz: u32,
    /// True if the match is absent from the public list, and joined by id or code only.
    pub private: bool,
}

/// Filter of a list. All set conditions must hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct MatchFilter {
    /// Room type.
    #[serde(rename = "type")]
    pub match_type: Option<String>,
    /// Label, compared exactly.
    pub label: Option<String>,
    /// Minimum number of players.
    pub players_min: Option<u32>,
    /// Maximum number of players.
    pub players_max: Option<u32>,
    /// True for private matches only, false for others only.
    pub private: Option<bool>,
    /// True for matches that run a game, false for relayed ones.
    pub authoritative: Option<bool>,
    /// Query on the label, which is a JSON object: `+label.mode:duel`.
    #[serde(deserialize_with = "read_query")]
    pub query: Option<Arc<Query>>,
    /// Maximum number of matches in the list, up to [`MATCHES_LISTED_MAX`].
    pub limit: Option<usize>,
}

impl MatchFilter {
    /// Returns true if a match passes the filter.
    #[must_use]
    pub fn allows(&self, info: &MatchInfo) -> bool {
        self.match_type.as_ref().is_none_or(|wanted| *wanted == info.match_type)
            && self.label.as_ref().is_none_or(|wanted| *wanted == info.label)
            && self.players_min.is_none_or(|least| info.players >= least)
            && self.players_max.is_none_or(|most| info.players <= most)
            && self.private.is_none_or(|wanted| info.private == wanted)
            && self.authoritative.is_none_or(|wanted| (info.tick_hz > 0) == wanted)
    }
}

/// Longest query of a list, in bytes.
pub const QUERY_BYTES_MAX: usize = 2_048;

/// Largest cost of the query of a list: plain clauses count one, patterns more.
const QUERY_COST_MAX: usize = 96;

/// Parses the query of a list. An empty one and `*` list everything.
pub fn parse_query(text: &str) -> Result<Option<Arc<Query>>, ServiceError> {
    if text.is_empty() || text == "*" {
        return Ok(None);
    }
    if text.len() > QUERY_BYTES_MAX {
        return Err(ServiceError::invalid(format!("The query must have at most {QUERY_BYTES_MAX} bytes.")));
    }
    let query = Query::parse(text).map_err(|error| ServiceError::invalid(format!("Invalid query: {error}.")))?;
    if query.cost() > QUERY_COST_MAX {
        return Err(ServiceError::invalid("The query has too many clauses or patterns. Use fewer."));
    }
    Ok(Some(Arc::new(query)))
}

fn read_query<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Arc<Query>>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
    parse_query(&text).map_err(serde::de::Error::custom)
}

/// Error for calls while no rooms are hosted.
pub(crate) const NOT_HOSTED: ServiceError = ServiceError::new(GrpcCode::Unavailable, "This server hosts no matches.");
