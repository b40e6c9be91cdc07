//! Matches as the services need them: the rooms that clients play in, wherever they run.

mod functions;

pub use functions::register_functions;

use crate::refusal::{GrpcCode, ServiceError};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::future::Future;
use std::pin::Pin;

/// Matches that one list holds at most.
pub const MATCHES_LISTED_MAX: usize = 100;

/// Result of a call to [`Matches`], in the future.
pub type MatchesFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ServiceError>> + Send + 'a>>;

/// The matches of a server. Whoever hosts rooms implements it; services and server code call it.
pub trait Matches: Send + Sync {
    /// Creates a match of a type. It lasts until its game ends it or nobody uses it for the configured time.
    fn create<'a>(&'a self, match_type: &'a str, label: &'a str) -> MatchesFuture<'a, MatchInfo>;

    /// Returns a running match.
    fn find<'a>(&'a self, id: &'a str) -> MatchesFuture<'a, Option<MatchInfo>>;

    /// Lists running matches, the oldest first.
    fn list<'a>(&'a self, filter: &'a MatchFilter) -> MatchesFuture<'a, Vec<MatchInfo>>;

    /// Sends data to the game of a match and returns its reply.
    fn signal<'a>(&'a self, id: &'a str, data: Vec<u8>) -> MatchesFuture<'a, Vec<u8>>;

    /// Ends a match; its players get the reason.
    fn end<'a>(&'a self, id: &'a str) -> MatchesFuture<'a, ()>;
}

/// A type of matches, which the program or a module registers in the table of calls. The host of the matches knows its own
/// kind of types, and gets it back by [`Any`].
pub trait MatchType: Any + Send + Sync {
    /// Name by which matches of this type are created and joined.
    fn name(&self) -> &str;
}

/// Description of a running match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchInfo {
    /// Id, which ends with the name of its node.
    pub id: String,
    /// Short code that people tell each other.
    pub code: String,
    /// Name of its room type.
    #[serde(rename = "type")]
    pub match_type: String,
    /// Label that it shows.
    pub label: String,
    /// Number of players in it.
    pub players: u32,
    /// Most players.
    pub players_max: usize,
    /// Ticks per second; 0 for a relay.
    pub tick_hz: u32,
}

/// Filter of a list. Everything that is set must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct MatchFilter {
    /// Room type.
    #[serde(rename = "type")]
    pub match_type: Option<String>,
    /// Label, compared as a whole.
    pub label: Option<String>,
    /// Least number of players.
    pub players_min: Option<u32>,
    /// Most number of players.
    pub players_max: Option<u32>,
    /// Most matches in the list; at most [`MATCHES_LISTED_MAX`].
    pub limit: Option<usize>,
}

impl MatchFilter {
    /// Returns true if a match passes.
    #[must_use]
    pub fn allows(&self, info: &MatchInfo) -> bool {
        self.match_type.as_ref().is_none_or(|wanted| *wanted == info.match_type)
            && self.label.as_ref().is_none_or(|wanted| *wanted == info.label)
            && self.players_min.is_none_or(|least| info.players >= least)
            && self.players_max.is_none_or(|most| info.players <= most)
    }
}

/// Refusal of calls while no rooms are hosted.
pub(crate) const NOT_HOSTED: ServiceError =
    ServiceError::new(GrpcCode::Unavailable, "No matches are hosted here at the moment.");
