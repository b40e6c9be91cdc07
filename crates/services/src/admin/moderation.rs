//! Operations of moderation for operators and moderators, with their messages. All fields of answers are always present.

use crate::admin::operation::PlayerRequest;
use crate::declare::{names, operations, optional_number};
use aether_messages::prost::{self, Message};
use serde::{Deserialize, Serialize};

/// Lists reports.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ListReportsRequest {
    /// State of the reports: `open` or `resolved`. Default: `open`.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// Id or username of the reported player; all players if it is empty.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub player: String,
    /// Maximum number of reports, up to 100. Default: 20.
    #[prost(int32, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub limit: Option<i32>,
    /// Cursor of an earlier list, for the reports after it.
    #[prost(string, tag = "4")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cursor: String,
}

/// Names a report.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ReportRequest {
    /// Id of the report.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub report: String,
}

/// Report in a list.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownReport {
    /// Id.
    #[prost(string, tag = "1")]
    pub id: String,
    /// State: `open` or `resolved`.
    #[prost(string, tag = "2")]
    pub state: String,
    /// Id of the reported player.
    #[prost(string, tag = "3")]
    pub player: String,
    /// Username of the reported player.
    #[prost(string, tag = "4")]
    pub username: String,
    /// Id of the player who reported.
    #[prost(string, tag = "5")]
    pub reporter: String,
    /// Username of the player who reported.
    #[prost(string, tag = "6")]
    pub reporter_username: String,
    /// Category of the first statement.
    #[prost(string, tag = "7")]
    pub category: String,
    /// Words of the first statement.
    #[prost(string, tag = "8")]
    pub text: String,
    /// Number of statements.
    #[prost(int32, tag = "9")]
    pub statements: i32,
    /// Decision: `dismissed`, `warned`, `muted` or `banned`; empty while the report is open.
    #[prost(string, tag = "10")]
    pub decision: String,
    /// Note of the one who resolved it.
    #[prost(string, tag = "11")]
    pub note: String,
    /// Account that resolved it; empty for the holder of the admin key, or while it is open.
    #[prost(string, tag = "12")]
    pub resolver: String,
    /// Time of the first statement, by RFC 3339.
    #[prost(string, tag = "13")]
    pub create_time: String,
    /// Time of the last statement, by RFC 3339.
    #[prost(string, tag = "14")]
    pub update_time: String,
    /// Time of the decision, by RFC 3339; empty while the report is open.
    #[prost(string, tag = "15")]
    pub resolve_time: String,
}

/// Reports, the oldest first.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ReportList {
    /// Reports.
    #[prost(message, repeated, tag = "1")]
    pub reports: Vec<ShownReport>,
    /// Cursor for newer reports; empty at the end.
    #[prost(string, tag = "2")]
    pub cursor: String,
}

/// Message as it was when it was reported.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownReportedMessage {
    /// Id of the message.
    #[prost(string, tag = "1")]
    pub id: String,
    /// Sender; empty if the message was not found.
    #[prost(string, tag = "2")]
    pub sender: String,
    /// Text, cut off at 2,048 bytes.
    #[prost(string, tag = "3")]
    pub text: String,
    /// Time of the message, by RFC 3339; empty if it was not found.
    #[prost(string, tag = "4")]
    pub create_time: String,
}

/// Statement of a report.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownStatement {
    /// Category.
    #[prost(string, tag = "1")]
    pub category: String,
    /// Words of the reporter.
    #[prost(string, tag = "2")]
    pub text: String,
    /// Chat channel; empty if there is none.
    #[prost(string, tag = "3")]
    pub channel_id: String,
    /// Copies of the messages.
    #[prost(message, repeated, tag = "4")]
    pub messages: Vec<ShownReportedMessage>,
    /// Match; empty if there is none.
    #[prost(string, tag = "5")]
    pub match_id: String,
    /// Time, by RFC 3339.
    #[prost(string, tag = "6")]
    pub create_time: String,
}

/// Earlier reports about a player, and what was decided.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct PlayerHistory {
    /// Open reports.
    #[prost(int32, tag = "1")]
    pub open: i32,
    /// Resolved reports.
    #[prost(int32, tag = "2")]
    pub resolved: i32,
    /// Resolved reports that were dismissed.
    #[prost(int32, tag = "3")]
    pub dismissed: i32,
    /// Mutes, also past ones.
    #[prost(int32, tag = "4")]
    pub mutes: i32,
    /// Bans in the audit entries.
    #[prost(int32, tag = "5")]
    pub bans: i32,
}

/// Report with its statements and the history of the reported player.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ReportDetail {
    /// Report.
    #[prost(message, optional, tag = "1")]
    pub report: Option<ShownReport>,
    /// Statements, the oldest first.
    #[prost(message, repeated, tag = "2")]
    pub statements: Vec<ShownStatement>,
    /// History of the reported player.
    #[prost(message, optional, tag = "3")]
    pub history: Option<PlayerHistory>,
}

/// Decision on a report.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ReportDecision {
    /// Decision: `dismissed`, `warned`, `muted` or `banned`. The player is muted or banned at once.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub decision: String,
    /// Note for other moderators.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Reason of a mute or a warning, which the player sees.
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Duration of a mute; without end if it is absent.
    #[prost(int32, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub seconds: Option<i32>,
    /// True to resolve all open reports about the player.
    #[prost(bool, tag = "5")]
    pub all: bool,
}

/// Resolves a report.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ResolveReportRequest {
    /// Id of the report.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub report: String,
    /// Decision.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<ReportDecision>,
}

/// Outcome of a decision.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ResolvedReports {
    /// Number of reports that were resolved.
    #[prost(int32, tag = "1")]
    pub resolved: i32,
    /// Decision.
    #[prost(string, tag = "2")]
    pub decision: String,
}

/// Mute to give.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct MuteFields {
    /// Duration; without end if it is absent.
    #[prost(int32, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub seconds: Option<i32>,
    /// Reason, which the player sees.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Mutes a player.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct MutePlayerRequest {
    /// Id or username of the account.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub player: String,
    /// Mute.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mute: Option<MuteFields>,
}

/// Mute of a player.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownMute {
    /// Id of the player.
    #[prost(string, tag = "1")]
    pub player: String,
    /// Username of the player.
    #[prost(string, tag = "2")]
    pub username: String,
    /// True if the player is muted.
    #[prost(bool, tag = "3")]
    pub muted: bool,
    /// Reason.
    #[prost(string, tag = "4")]
    pub reason: String,
    /// Account that muted; empty for the holder of the admin key.
    #[prost(string, tag = "5")]
    pub muted_by: String,
    /// Start, by RFC 3339.
    #[prost(string, tag = "6")]
    pub create_time: String,
    /// End, by RFC 3339; empty for a mute without end.
    #[prost(string, tag = "7")]
    pub end_time: String,
}

/// Lists mutes.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ListMutesRequest {
    /// Maximum number of mutes, up to 100. Default: 20.
    #[prost(int32, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub limit: Option<i32>,
    /// Cursor of an earlier list, for the mutes after it.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cursor: String,
}

/// Mutes that have not ended, the first to end first.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct MuteList {
    /// Mutes.
    #[prost(message, repeated, tag = "1")]
    pub mutes: Vec<ShownMute>,
    /// Cursor for later ones; empty at the end.
    #[prost(string, tag = "2")]
    pub cursor: String,
}

names! {
    ListMutesRequest ListReportsRequest MuteFields MuteList MutePlayerRequest PlayerHistory ReportDecision ReportDetail
    ReportList ReportRequest ResolveReportRequest ResolvedReports ShownMute ShownReport ShownReportedMessage
    ShownStatement
}

operations! {
    /// Lists reports of players.
    ListReports: ListReportsRequest => ReportList,
    /// Returns a report with its statements and the history of the reported player.
    GetReport: ReportRequest => ReportDetail,
    /// Resolves a report with a decision.
    ResolveReport: ResolveReportRequest => ResolvedReports,
    /// Mutes a player.
    MutePlayer: MutePlayerRequest => ShownMute,
    /// Ends the mute of a player.
    UnmutePlayer: PlayerRequest => ShownMute,
    /// Lists the mutes that have not ended.
    ListMutes: ListMutesRequest => MuteList,
}
