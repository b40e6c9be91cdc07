//! Operations on the scripts of a server, with their messages. All fields of answers are always present.

use super::room::NoRequest;
use crate::declare::{names, operations};
use aether_messages::prost::{self, Message};
use serde::{Deserialize, Serialize};

/// Module of the scripts.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownModule {
    /// Name, by which other modules require it.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Bytes of its text.
    #[prost(uint32, tag = "2")]
    pub bytes: u32,
}

/// Function that a module registered.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownScriptFunction {
    /// Kind: `rpc`, `before`, `after`, `match` and others.
    #[prost(string, tag = "1")]
    pub kind: String,
    /// Name of the function, or of the operation that it runs with.
    #[prost(string, tag = "2")]
    pub name: String,
}

/// Last failure of a reload.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownScriptError {
    /// Module; empty if no module is the cause.
    #[prost(string, tag = "1")]
    pub module: String,
    /// Line in the module; 0 if it is unknown.
    #[prost(uint32, tag = "2")]
    pub line: u32,
    /// Sentence that says what failed; empty if the last load succeeded.
    #[prost(string, tag = "3")]
    pub message: String,
    /// Time of the failure, by RFC 3339; empty if the last load succeeded.
    #[prost(string, tag = "4")]
    pub time: String,
}

/// Scripts of a server.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ScriptList {
    /// Modules in use.
    #[prost(message, repeated, tag = "1")]
    pub modules: Vec<ShownModule>,
    /// Functions that they registered.
    #[prost(message, repeated, tag = "2")]
    pub functions: Vec<ShownScriptFunction>,
    /// Last failure, if the files of the folder are not those in use.
    #[prost(message, optional, tag = "3")]
    pub error: Option<ShownScriptError>,
    /// Time at which the modules in use were loaded, by RFC 3339.
    #[prost(string, tag = "4")]
    pub load_time: String,
    /// Number of successful loads since the start.
    #[prost(uint32, tag = "5")]
    pub loads: u32,
}

/// Outcome of a reload.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ScriptReload {
    /// Number of modules.
    #[prost(uint32, tag = "1")]
    pub modules: u32,
    /// Number of registered functions.
    #[prost(uint32, tag = "2")]
    pub functions: u32,
    /// Number of successful loads since the start.
    #[prost(uint32, tag = "3")]
    pub loads: u32,
}

names! { ScriptList ScriptReload ShownModule ShownScriptError ShownScriptFunction }

operations! {
    /// Lists modules and functions of the scripts, and the last failure.
    ListScripts: NoRequest => ScriptList,
    /// Loads the scripts again. Modules that fail to load leave those in use unchanged.
    ReloadScripts: NoRequest => ScriptReload,
}
