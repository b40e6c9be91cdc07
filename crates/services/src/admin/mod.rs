//! Operations for operators: players are shown, banned, unbanned, signed out and given roles; rooms are listed, created,
//! opened, signalled, recorded and ended; the server is drained.

pub mod operation;
pub mod room;
mod room_operator;
pub(crate) mod serve;
pub(crate) mod serve_room;

pub use room_operator::RoomOperator;
