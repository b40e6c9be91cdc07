//! Brackets: competitions of matches between two entrants, as an elimination, a round robin or in the Swiss system.
//!
//! ```text
//!   registration ──start──→ running ──last match──→ finished
//!    join, leave             report, confirm, resolve, leave (withdraws), deadlines
//! ```
//!
//! A started bracket is a [`Machine`] without a clock and a database. Each accepted action is stored, and the state is replayed
//! from the actions. So a restart changes nothing.
//!
//! Entrants are users. Teams are not supported; a game can let one user of a team enter for it.
//!
//! # Results
//! Both entrants report the result of their match. Equal reports decide it. Different ones are a dispute, which the operator or
//! server code resolves; until then either entrant can still change the report. After the deadline of the match, the report of
//! one entrant decides it. Without any report, the better seed advances in an elimination, and both lose otherwise.

mod cache;
mod definition;
mod events;
mod format;
mod game;
pub mod limits;
mod list;
mod machine;
mod matching;
pub mod operation;
pub mod operator;
mod rows;
pub(crate) mod serve;
mod service;
mod shown;
mod standings;

#[cfg(test)]
mod tests;

pub use definition::{Bracket, Definition, Entrant, Phase, Seeding};
pub use events::{STREAM_MODE, stream};
pub use format::Format;
pub use game::{Claim, Game, Outcome, Reason, Section, Slot, State};
pub use list::{BracketList, BracketQuery};
pub use machine::{Action, Change, Machine, Rules};
pub(crate) use service::Parts;
pub use service::{Brackets, Verdict};
pub use standings::{POINTS_DRAW, POINTS_WIN, Standing};
