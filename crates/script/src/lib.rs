//! Lua scripts of a server: modules that add functions, hooks and matches while the server runs, in a sandbox.
//!
//! ```text
//!   folder ── Sources ── Program ── pool of VMs ──→ calls: RPC, hooks, schedules
//!                           └────── a VM per match ──→ rooms
//! ```
//!
//! A script that calls a service is suspended until the answer is there; the module `vm` describes how.

mod api;
mod arguments;
mod call_module;
mod check;
mod codes;
mod context;
mod definitions;
mod error;
mod event_queue;
mod failures;
mod forwarders;
mod function;
mod hook_name;
mod indexes;
mod json;
mod matches;
mod program;
mod reference;
mod registrations;
mod reload;
mod run;
mod schedules;
mod scripts;
mod source;
mod value;
mod vm;

pub use check::{Finding, check};
pub use definitions::type_definitions;
pub use error::{ErrorKind, ScriptError};
pub use matches::{LocalMatch, recorded_matches, reload_code};
pub use program::{CallLimits, MatchLimits, Program};
pub use reference::function_reference;
pub use registrations::{REGISTERED_MAX, RegistrationKind, SCHEDULE_NAME_BYTES_MAX, SCHEDULES_MAX};
pub use reload::ScriptReloader;
pub use run::RunRequest;
pub use schedules::{DueRun, SCHEDULES_COLLECTION};
pub use scripts::{MODULE, SHUTDOWN_TIME_MAX, ScriptSettings, Scripts};
pub use source::{MODULE_BYTES_MAX, MODULES_MAX, SOURCES_BYTES_MAX, Sources};
pub use value::{InvalidValue, Key, Map, VALUE_BYTES_MAX, VALUE_DEPTH_MAX, Value};
