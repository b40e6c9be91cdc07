//! Operations on remote values for operators, with their messages. All fields of answers are always present.

use crate::declare::{json_text, names, operations, optional_number};
use aether_messages::prost::{self, Message};
use serde::{Deserialize, Serialize};

/// Lists remote values with their rules.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ListAllRemoteValuesRequest {
    /// Maximum number of values, up to 100. Default: 20.
    #[prost(int32, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub limit: Option<i32>,
    /// Cursor of an earlier list, for the values after it.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cursor: String,
}

/// Names a remote value.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct RemoteValueRequest {
    /// Key.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
}

/// Contents of a remote value.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct RemoteValueFields {
    /// Value for players whom no rule applies to: any JSON.
    #[prost(string, optional, tag = "1")]
    #[serde(with = "json_text::optional", skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Rules, the first of which that applies wins: a list of `{"if": condition, "value": JSON}`.
    #[prost(string, optional, tag = "2")]
    #[serde(with = "json_text::optional", skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
}

/// Sets a remote value.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct SetRemoteValueRequest {
    /// Key.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// Contents.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<RemoteValueFields>,
}

/// Remote value with its rules.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownRemoteValue {
    /// Key.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Value for players whom no rule applies to.
    #[prost(string, tag = "2")]
    #[serde(with = "json_text")]
    pub value: String,
    /// Rules.
    #[prost(string, tag = "3")]
    #[serde(with = "json_text")]
    pub rules: String,
    /// Number of the change that wrote it.
    #[prost(int32, tag = "4")]
    pub version: i32,
    /// Time of the first write, by RFC 3339.
    #[prost(string, tag = "5")]
    pub create_time: String,
    /// Time of the last write, by RFC 3339.
    #[prost(string, tag = "6")]
    pub update_time: String,
}

/// Remote values in the order of their keys.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct AllRemoteValueList {
    /// Values.
    #[prost(message, repeated, tag = "1")]
    pub values: Vec<ShownRemoteValue>,
    /// Cursor for further ones; empty at the end.
    #[prost(string, tag = "2")]
    pub cursor: String,
}

names! {
    AllRemoteValueList ListAllRemoteValuesRequest RemoteValueFields RemoteValueRequest SetRemoteValueRequest
    ShownRemoteValue
}

operations! {
    /// Lists all remote values with their rules.
    ListAllRemoteValues: ListAllRemoteValuesRequest => AllRemoteValueList,
    /// Returns a remote value with its rules.
    GetRemoteValue: RemoteValueRequest => ShownRemoteValue,
    /// Sets a remote value.
    SetRemoteValue: SetRemoteValueRequest => ShownRemoteValue,
    /// Deletes a remote value.
    DeleteRemoteValue: RemoteValueRequest => RemoteValueRequest,
}
