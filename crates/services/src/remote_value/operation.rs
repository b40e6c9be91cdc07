//! Operations of remote values for clients, which extend the Nakama protocol, with their messages.

use crate::declare::{names, operations};
use aether_messages::prost::{self, Message};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Lists the values of the caller.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ListRemoteValuesRequest {
    /// Keys; all if there are none. Unknown keys are left out.
    #[prost(string, repeated, tag = "1")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// Hash of an earlier answer. If it is still right, the answer has no values.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hash: String,
}

/// Values of the caller. All fields are always present.
#[derive(Clone, Debug, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[prost(skip_debug)]
#[serde(default)]
pub struct RemoteValueList {
    /// Values by key, as JSON.
    #[prost(btree_map = "string, string", tag = "1")]
    #[serde(with = "json_map")]
    pub values: BTreeMap<String, String>,
    /// Hash of keys and values.
    #[prost(string, tag = "2")]
    pub hash: String,
    /// True if the hash of the request is still right. Then there are no values.
    #[prost(bool, tag = "3")]
    pub unchanged: bool,
}

names! { ListRemoteValuesRequest RemoteValueList }

operations! {
    /// Lists the remote values of the caller.
    ListRemoteValues: ListRemoteValuesRequest => RemoteValueList,
}

/// Map of texts that carry JSON: embedded as JSON in the JSON form of the message.
mod json_map {
    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::value::RawValue;
    use std::collections::BTreeMap;

    pub fn serialize<S: Serializer>(values: &BTreeMap<String, String>, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = values.iter().filter_map(|(key, text)| Some((key, serde_json::from_str::<&RawValue>(text).ok()?)));
        serializer.collect_map(raw)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
        let raw = BTreeMap::<String, Box<RawValue>>::deserialize(deserializer)?;
        Ok(raw.into_iter().map(|(key, raw)| (key, raw.get().to_owned())).collect())
    }
}
