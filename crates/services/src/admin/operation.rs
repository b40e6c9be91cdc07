//! Operations of the admin API, with their messages. Hooks run for them as for all others. All fields of answers are
//! always present.

use crate::declare::{names, operations, optional_number};
use aether_messages::prost::{self, Message};
use serde::{Deserialize, Serialize};

/// Names a player.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct PlayerRequest {
    /// Id or username of the account.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub player: String,
}

/// Role to give.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct PlayerRole {
    /// Role: `player`, `read-only`, `moderator`, `developer` or `admin`.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub role: String,
}

/// Gives a player a role.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct SetPlayerRoleRequest {
    /// Id or username of the account.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub player: String,
    /// Role to give.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<PlayerRole>,
}

/// Player as operators see it.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownPlayer {
    /// Id of the account.
    #[prost(string, tag = "1")]
    pub id: String,
    /// Username.
    #[prost(string, tag = "2")]
    pub username: String,
    /// Display name.
    #[prost(string, tag = "3")]
    pub display_name: String,
    /// Role.
    #[prost(string, tag = "4")]
    pub role: String,
    /// True if the player is connected to this server.
    #[prost(bool, tag = "5")]
    pub online: bool,
    /// True if the player is banned.
    #[prost(bool, tag = "6")]
    pub banned: bool,
    /// Time of the ban, by RFC 3339; empty without one.
    #[prost(string, tag = "7")]
    pub ban_time: String,
    /// Creation time, by RFC 3339.
    #[prost(string, tag = "8")]
    pub create_time: String,
}

/// Lists the sessions of a player.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ListPlayerSessionsRequest {
    /// Id or username of the account.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub player: String,
    /// Maximum number of sessions, up to 100. Default: 20.
    #[prost(int32, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub limit: Option<i32>,
}

/// Session of a player.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownSession {
    /// Id of the session.
    #[prost(string, tag = "1")]
    pub id: String,
    /// State: `authenticated`, `connecting`, `active`, `resuming` or `closed`.
    #[prost(string, tag = "2")]
    pub state: String,
    /// Sign-in method.
    #[prost(string, tag = "3")]
    pub method: String,
    /// Address of the client at sign-in.
    #[prost(string, tag = "4")]
    pub address: String,
    /// Start, by RFC 3339.
    #[prost(string, tag = "5")]
    pub create_time: String,
    /// Last heartbeat or change of the state, by RFC 3339.
    #[prost(string, tag = "6")]
    pub seen_time: String,
    /// Time at which the session was ended, by RFC 3339; empty if it was not.
    #[prost(string, tag = "7")]
    pub end_time: String,
    /// Reason for ending it.
    #[prost(string, tag = "8")]
    pub reason: String,
}

/// Sessions of a player, newest first.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct PlayerSessionList {
    /// Sessions.
    #[prost(message, repeated, tag = "1")]
    pub sessions: Vec<ShownSession>,
}

/// Lists audit entries.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ListAuditEntriesRequest {
    /// Maximum number of entries, up to 100. Default: 20.
    #[prost(int32, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub limit: Option<i32>,
    /// Cursor of an earlier list, for the entries after it.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cursor: String,
}

/// Use of a permission.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownAuditEntry {
    /// Account that acted; empty for the holder of the admin key, or if it is unknown.
    #[prost(string, tag = "1")]
    pub actor: String,
    /// Account that the action was about; empty if it was about none.
    #[prost(string, tag = "2")]
    pub player: String,
    /// Action.
    #[prost(string, tag = "3")]
    pub action: String,
    /// `allowed` or `refused`.
    #[prost(string, tag = "4")]
    pub outcome: String,
    /// Further values of the action.
    #[prost(string, tag = "5")]
    pub detail: String,
    /// Number of uses. Refusals of an actor are merged for an hour.
    #[prost(int32, tag = "6")]
    pub count: i32,
    /// Time of the first use, by RFC 3339.
    #[prost(string, tag = "7")]
    pub first_time: String,
    /// Time of the last use, by RFC 3339.
    #[prost(string, tag = "8")]
    pub last_time: String,
}

/// Audit entries, newest first.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct AuditEntryList {
    /// Entries.
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<ShownAuditEntry>,
    /// Cursor for older entries; empty at the end.
    #[prost(string, tag = "2")]
    pub cursor: String,
}

names! {
    AuditEntryList ListAuditEntriesRequest ListPlayerSessionsRequest PlayerRequest PlayerRole PlayerSessionList
    SetPlayerRoleRequest ShownAuditEntry ShownPlayer ShownSession
}

operations! {
    /// Returns a player.
    GetPlayer: PlayerRequest => ShownPlayer,
    /// Bans a player and ends all sessions.
    BanPlayer: PlayerRequest => ShownPlayer,
    /// Lifts a ban.
    UnbanPlayer: PlayerRequest => ShownPlayer,
    /// Ends all sessions of a player.
    SignOutPlayer: PlayerRequest => ShownPlayer,
    /// Gives a player a role.
    SetPlayerRole: SetPlayerRoleRequest => ShownPlayer,
    /// Lists the latest sessions of a player.
    ListPlayerSessions: ListPlayerSessionsRequest => PlayerSessionList,
    /// Lists uses of permissions.
    ListAuditEntries: ListAuditEntriesRequest => AuditEntryList,
}
