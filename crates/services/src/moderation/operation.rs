//! Operations of moderation for players, which extend the Nakama protocol, with their messages.

use crate::declare::{names, operations};
use aether_messages::prost::{self, Message};
use serde::{Deserialize, Serialize};

/// Reports a player.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ReportPlayerRequest {
    /// Id of the reported player.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user_id: String,
    /// Category, such as `harassment` or `cheating`: letters, digits, hyphens and underscores.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub category: String,
    /// Words of the reporter.
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Chat channel that the report is about.
    #[prost(string, tag = "4")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub channel_id: String,
    /// Messages in this channel. Their texts are copied into the report.
    #[prost(string, repeated, tag = "5")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub message_ids: Vec<String>,
    /// Match that the report is about.
    #[prost(string, tag = "6")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub match_id: String,
}

/// Outcome of a report.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct FiledReport {
    /// Id of the report.
    #[prost(string, tag = "1")]
    pub id: String,
    /// False if the open report about this player is full, so that nothing was added to it.
    #[prost(bool, tag = "2")]
    pub added: bool,
}

names! { FiledReport ReportPlayerRequest }

operations! {
    /// Reports a player to the moderators.
    ReportPlayer: ReportPlayerRequest => FiledReport,
}
