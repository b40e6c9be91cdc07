//! Matches: the rooms that clients play in, as the services use them.

mod functions;

pub use functions::register_functions;

use crate::error::{GrpcCode, ServiceError};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::future::Future;
use std::pin::Pin;

/// Maximum number of matches in one list.
pub const MATCHES_LISTED_MAX: usize = 100;

/// Future of a call to [`Matches`].
pub type MatchesFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ServiceError>> + Send + 'a>>;

/// Matches of a server. Implemented by the host of the rooms; called by services and server code.
pub trait Matches: Send + Sync {
    /// Creates a match of a type. It ends when its game ends it, or when it is unused for the configured time.
    fn create_with<'a>(&'a self, new: &'a NewMatch) -> MatchesFuture<'a, MatchInfo>;

    /// Creates a match of a type with a label.
    fn create<'a>(&'a self, match_type: &'a str, label: &'a str) -> MatchesFuture<'a, MatchInfo> {
        let new = NewMatch { match_type: match_type.to_owned(), label: label.to_owned(), private: false };
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
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
    }
}

/// Error for calls while no rooms are hosted.
pub(crate) const NOT_HOSTED: ServiceError = ServiceError::new(GrpcCode::Unavailable, "This server hosts no matches.");
