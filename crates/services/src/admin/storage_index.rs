//! Operation on storage indexes for operators and scripts, with its messages.

use crate::declare::{names, operations, optional_number};
use aether_messages::api::StorageObjectList;
use aether_messages::prost::{self, Message};
use serde::{Deserialize, Serialize};

/// Lists objects of a storage index.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ListStorageIndexRequest {
    /// Name of the index.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub index: String,
    /// Query over `value.<field>`, `key`, `user_id`, `create_time`, `update_time` and others; empty finds all.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub query: String,
    /// Fields to sort by, such as `value.level`, or `-value.level` for the highest first.
    #[prost(string, repeated, tag = "3")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
    /// Maximum number of objects, up to 100. Default: 20.
    #[prost(int32, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "optional_number")]
    pub limit: Option<i32>,
    /// Cursor of an earlier list, for the objects after it.
    #[prost(string, tag = "5")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cursor: String,
}

names! { ListStorageIndexRequest }

operations! {
    /// Lists objects of a storage index that match a query.
    ListStorageIndex: ListStorageIndexRequest => StorageObjectList,
}
