//! Lua scripts of a server: modules that add functions, hooks and matches while the server runs, in a sandbox.
//!
//! ```text
//!   folder ── Sources ── Program ── pool of VMs ──→ calls: RPC, hooks, schedules
//!                           └────── a VM per match ──→ rooms
//! ```
//!
//! A script that calls a service is suspended until the answer is there: [`vm`] describes how.

mod api;
mod arguments;
mod check;
mod codes;
mod context;
mod definitions;
mod error;
mod function;
mod matches;
mod program;
mod reference;
mod registrations;
mod reload;
mod run;
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
pub use registrations::Kind;
pub use reload::ScriptReloader;
pub use run::RunRequest;
pub use scripts::{MODULE, ScriptSettings, Scripts};
pub use source::{MODULE_BYTES_MAX, MODULES_MAX, SOURCES_BYTES_MAX, Sources};
pub use value::{InvalidValue, Key, Map, VALUE_BYTES_MAX, VALUE_DEPTH_MAX, Value};
