//! Operations of brackets, which extend the Nakama protocol, with their messages. Hooks run for them as for all others. All
//! fields of answers are always present.

use crate::declare::{json_text, names, operations, optional_number};
use aether_messages::prost::{self, Message};
use serde::{Deserialize, Serialize};

/// Bracket as clients see it.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownBracket {
    /// Id.
    #[prost(string, tag = "1")]
    pub id: String,
    /// Title.
    #[prost(string, tag = "2")]
    pub title: String,
    /// Format: `single_elimination`, `double_elimination`, `round_robin` or `swiss`.
    #[prost(string, tag = "3")]
    pub format: String,
    /// Seeding: `order`, `rating` or `leaderboard`.
    #[prost(string, tag = "4")]
    pub seeding: String,
    /// Leaderboard of the seeding; empty without one.
    #[prost(string, tag = "5")]
    pub leaderboard_id: String,
    /// Rounds of a Swiss bracket; 0 for the default, and for other formats.
    #[prost(uint32, tag = "6")]
    pub rounds: u32,
    /// Time for each match, in seconds; 0 without a limit.
    #[prost(uint32, tag = "7")]
    pub match_seconds: u32,
    /// Maximum entrants.
    #[prost(uint32, tag = "8")]
    pub max_size: u32,
    /// Number of entrants.
    #[prost(uint32, tag = "9")]
    pub size: u32,
    /// JSON object for the game.
    #[prost(string, tag = "10")]
    #[serde(with = "json_text")]
    pub metadata: String,
    /// Phase: `registration`, `running` or `finished`.
    #[prost(string, tag = "11")]
    pub phase: String,
    /// Number that grows with every change.
    #[prost(int64, tag = "12")]
    pub version: i64,
    /// Creation time, by RFC 3339.
    #[prost(string, tag = "13")]
    pub create_time: String,
    /// Start, by RFC 3339; empty before it.
    #[prost(string, tag = "14")]
    pub start_time: String,
    /// End, by RFC 3339; empty before it.
    #[prost(string, tag = "15")]
    pub end_time: String,
    /// User who won; empty before the end.
    #[prost(string, tag = "16")]
    pub winner_id: String,
}

/// Bracket with its entrants and matches.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct BracketDetail {
    /// Bracket.
    #[prost(message, optional, tag = "1")]
    pub bracket: Option<ShownBracket>,
    /// Entrants: by rank after the start, before it in the order of joining.
    #[prost(message, repeated, tag = "2")]
    pub entrants: Vec<ShownEntrant>,
    /// Matches, by number.
    #[prost(message, repeated, tag = "3")]
    pub matches: Vec<ShownMatch>,
}

/// Entrant, with the standing after the start.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownEntrant {
    /// User; empty if the account was deleted.
    #[prost(string, tag = "1")]
    pub user_id: String,
    /// Username when joining.
    #[prost(string, tag = "2")]
    pub username: String,
    /// Seed, from 1; 0 before the start.
    #[prost(uint32, tag = "3")]
    pub seed: u32,
    /// Rank, from 1; 0 before the start.
    #[prost(uint32, tag = "4")]
    pub rank: u32,
    /// Points: two per win, one per draw.
    #[prost(uint32, tag = "5")]
    pub points: u32,
    /// Sum of the points of all opponents.
    #[prost(uint32, tag = "6")]
    pub buchholz: u32,
    /// Matches won.
    #[prost(uint32, tag = "7")]
    pub wins: u32,
    /// Matches lost.
    #[prost(uint32, tag = "8")]
    pub losses: u32,
    /// Draws.
    #[prost(uint32, tag = "9")]
    pub draws: u32,
    /// True if the entrant has withdrawn.
    #[prost(bool, tag = "10")]
    pub withdrawn: bool,
}

/// Match of a bracket.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownMatch {
    /// Number, from 0.
    #[prost(uint32, tag = "1")]
    pub number: u32,
    /// Section: `winners`, `losers`, `final`, `repeat` or `group`.
    #[prost(string, tag = "2")]
    pub section: String,
    /// Round of the section, from 1.
    #[prost(uint32, tag = "3")]
    pub round: u32,
    /// State: `waiting`, `ready`, `disputed`, `decided` or `skipped`.
    #[prost(string, tag = "4")]
    pub state: String,
    /// The two sides.
    #[prost(message, repeated, tag = "5")]
    pub sides: Vec<ShownSide>,
    /// Result: `first`, `second`, `draw` or `both_lose`; empty without one.
    #[prost(string, tag = "6")]
    pub outcome: String,
    /// Reason of the result: `agreed`, `operator`, `unanswered`, `timeout` or `walkover`; empty without one.
    #[prost(string, tag = "7")]
    pub reason: String,
    /// User who won; empty without a winner.
    #[prost(string, tag = "8")]
    pub winner_id: String,
    /// Scores of both sides; empty without a result.
    #[prost(uint32, repeated, tag = "9")]
    pub scores: Vec<u32>,
    /// Deadline for reports, by RFC 3339; empty without one.
    #[prost(string, tag = "10")]
    pub deadline: String,
}

/// Side of a match.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownSide {
    /// User; empty if it is not known yet, for a bye, and for a deleted account.
    #[prost(string, tag = "1")]
    pub user_id: String,
    /// Username.
    #[prost(string, tag = "2")]
    pub username: String,
    /// Seed, from 1; 0 if it is not known yet, and for a bye.
    #[prost(uint32, tag = "3")]
    pub seed: u32,
    /// True if there is nobody, and the other side advances.
    #[prost(bool, tag = "4")]
    pub bye: bool,
    /// Reported result: `first`, `second` or `draw`; empty without a report.
    #[prost(string, tag = "5")]
    pub report: String,
    /// Reported scores of both sides.
    #[prost(uint32, repeated, tag = "6")]
    pub report_scores: Vec<u32>,
}

/// Page of brackets.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct BracketPage {
    /// Brackets, the newest first.
    #[prost(message, repeated, tag = "1")]
    pub brackets: Vec<ShownBracket>,
    /// Cursor of the next page; empty on the last one.
    #[prost(string, tag = "2")]
    pub cursor: String,
}

/// Lists brackets.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ListBracketsRequest {
    /// Phase; all if absent.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// Maximum number of brackets, up to 100. Default: 100.
    #[prost(int32, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub limit: Option<i32>,
    /// Cursor of the page.
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cursor: String,
}

/// Names a bracket.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct BracketRequest {
    /// Id.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
}

/// Creates a bracket.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct CreateBracketRequest {
    /// Id. A random one if absent.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Title.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Format: `single_elimination`, `double_elimination`, `round_robin` or `swiss`.
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub format: String,
    /// Seeding: `order`, `rating` or `leaderboard`. `order` if absent.
    #[prost(string, tag = "4")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub seeding: String,
    /// Leaderboard or tournament whose ranks are the seeds.
    #[prost(string, tag = "5")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub leaderboard_id: String,
    /// Rounds of a Swiss bracket. As many as needed for one winner if absent.
    #[prost(int32, optional, tag = "6")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub rounds: Option<i32>,
    /// Time for each match, in seconds. No limit if absent.
    #[prost(int32, optional, tag = "7")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub match_seconds: Option<i32>,
    /// Maximum entrants. As many as the format allows if absent.
    #[prost(int32, optional, tag = "8")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub max_size: Option<i32>,
    /// JSON object for the game. An empty one if absent.
    #[prost(string, optional, tag = "9")]
    #[serde(with = "json_text::optional", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
}

/// Result of a match: a winner, a draw, or that both lose.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct MatchResult {
    /// User who won. Empty for a draw.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub winner_id: String,
    /// True for a draw.
    #[prost(bool, tag = "2")]
    pub draw: bool,
    /// True if both lose. Only the operator can decide so.
    #[prost(bool, tag = "3")]
    pub both_lose: bool,
    /// Scores of the first and the second side of the match. May be absent.
    #[prost(uint32, repeated, tag = "4")]
    pub scores: Vec<u32>,
}

/// Names a match.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct BracketMatchRequest {
    /// Id of the bracket.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Number of the match.
    #[prost(int32, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub number: Option<i32>,
}

/// Reports or decides the result of a match.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct BracketMatchResultRequest {
    /// Id of the bracket.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Number of the match.
    #[prost(int32, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub number: Option<i32>,
    /// Result.
    #[prost(message, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<MatchResult>,
}

names! {
    BracketDetail BracketMatchRequest BracketMatchResultRequest BracketPage BracketRequest CreateBracketRequest
    ListBracketsRequest MatchResult ShownBracket ShownEntrant ShownMatch ShownSide
}

operations! {
    /// Lists brackets.
    ListBrackets: ListBracketsRequest => BracketPage,
    /// Returns a bracket with its entrants and matches.
    GetBracket: BracketRequest => BracketDetail,
    /// Adds the caller to a bracket.
    JoinBracket: BracketRequest => ShownBracket,
    /// Removes the caller from a bracket, or withdraws the caller from a running one.
    LeaveBracket: BracketRequest => ShownBracket,
    /// Reports the result of a match of the caller.
    ReportBracketMatch: BracketMatchResultRequest => ShownMatch,
    /// Confirms the report of the opponent.
    ConfirmBracketMatch: BracketMatchRequest => ShownMatch,
}
