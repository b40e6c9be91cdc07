//! Operations for operators: players are shown, banned, unbanned, muted, signed out and given roles; reports are resolved;
//! remote values are changed; rooms are listed, created, opened, signalled, recorded and ended; scripts are listed and
//! reloaded; the server is drained.

pub mod moderation;
pub mod operation;
pub mod remote_value;
pub mod room;
mod room_operator;
pub mod script;
mod script_operator;
pub(crate) mod serve;
pub(crate) mod serve_moderation;
pub(crate) mod serve_remote_value;
pub(crate) mod serve_room;
pub(crate) mod serve_script;
pub(crate) mod serve_storage_index;
pub mod storage_index;

pub use room_operator::RoomOperator;
pub use script_operator::{ScriptFuture, ScriptOperator};
