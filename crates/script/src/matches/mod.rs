//! Matches of scripts: rooms whose game is a [`ScriptGame`].
//!
//! Each match has a VM of its own. The room calls the functions of the match handler, one at a time:
//!
//! | function | called | arguments in `nk` after `context` | in `aether` after `context` |
//! |---|---|---|---|
//! | `match_init` | before the first tick | `params` | `params` |
//! | `match_join_attempt` | when a player wants to join | `dispatcher, tick, state, presence, metadata` | `state, presences` |
//! | `match_join`, `match_leave` | when a player has joined or left | `dispatcher, tick, state, presences` | `state, presences` |
//! | `match_loop` | every tick | `dispatcher, tick, state, messages` | `state, tick, messages` |
//! | `match_signal` | by `match_signal` from outside | `dispatcher, tick, state, data` | `state, data` |
//! | `match_input` | for every input of a player, if the schema declares one | | `state, player, input` |
//! | `match_event` | for every event that a player sends | | `state, player, event, fields` |
//! | `match_terminate` | when the server ends the match | `dispatcher, tick, state, grace_seconds` | `state` |
//! | `match_reload` | after the code changed, if it exists | `state` | `state` |
//!
//! A handler is a module that returns a table with the first seven functions (`nk.match_create("module", params)`), or a
//! table of `aether.register_match(name, table)`, which may leave functions out. Both are room types under their name. The
//! table may also have `players_max`, `durable`, `private` and `resume_seconds`.
//!
//! A table of `aether.register_match` may declare a `schema` with components, an input and events. Its matches then have a
//! world on the realtime path: see [`world`].
//!
//! Functions return the state first. Without a state (`nil`) the match ends; a function of the form `aether` that returns
//! nothing at all keeps it. An error ends the match and closes its players, and no other match.
//!
//! # Calls of services
//! A call of a service never blocks the thread of the tick:
//!
//! - In `match_join`, `match_leave` and `match_loop` it suspends the function, and the function continues in the tick in which
//!   the answer arrives. Meanwhile the match does not loop; messages wait for the next loop, up to [`MESSAGES_MAX`], and
//!   joins and leaves wait in their order.
//! - `aether.task(function, …)` runs a function beside the match: the match keeps looping while the function waits. Use it for
//!   everything that the next tick does not need, and pass the answer on by a table: `aether.task(function() state.rank =
//!   nk.leaderboard_records_list(…) end)`. A callback is a function that the task calls at its end.
//! - `match_join_attempt`, `match_signal`, `match_terminate` and `match_reload` must answer at once. A call of a service in
//!   them is an error, unless it is in a function for `aether.task`.
//! - `match_init` may call services: whoever creates the match waits.
//! - At the top level of a module, calls of services do nothing in the VM of a match. They are carried out when the server
//!   loads the module.
//!
//! # Determinism
//! Time (`os.time`, `os.clock`, `os.date`, `nk.time`) and random numbers (`math.random`, `nk.uuid_v4` and the others) are those
//! of the room. Joins, messages, answers of services, signals and new code are recorded, so a recording replays to the same
//! hash of the state, on any machine. Keep everything in the state: variables of a module are not part of the hash, and are
//! lost when the match gets new code or is rebuilt.
//!
//! `pairs` visits the keys 1 to n in order, and then the other keys in an order that depends on the keys and the history of
//! the table. For texts and numbers as keys, it is the same in every run, with one exception: once texts were removed from
//! the table, the places of later ones depend on the garbage collector. For tables and functions as keys the order depends on
//! their addresses. In loops that change the state, use lists with `ipairs`, or sort the keys first.
//!
//! # Limits
//! A call may take a share of the tick, 25 % by default (`script.match_share_percent`), and the VM 16 MiB
//! (`script.match_memory_mib`). A script that exceeds them ends its match with an error that names module, line and stack.

mod broadcast;
pub(crate) mod columns;
mod fields;
mod game;
mod handler;
mod machine;
mod members;
mod restore;
mod room_call;
mod room_type;
mod schema;
mod service;
mod setup;
mod state;
pub(crate) mod world;

pub(crate) use broadcast::{read as read_broadcast, read_players};
pub(crate) use handler::{Form, HandlerInfo, is_handler, read_label, read_settings};
pub(crate) use room_call::{DEFERRED_MAX, RoomCall, TASKS_MAX};
pub(crate) use room_type::room_type;
pub use room_type::{LocalMatch, recorded_matches, reload_code};
pub(crate) use schema::schema_of;
pub(crate) use service::{SERVICE_FUNCTION, serve};

use std::time::Duration;

/// Longest label, in bytes.
pub(crate) const LABEL_BYTES_MAX: usize = 2_048;
/// Most messages that wait for the next `match_loop`. Further ones are refused: the sender gets an error.
pub(crate) const MESSAGES_MAX: usize = 1_024;
/// Processor time that a match may take to load and to run `match_init`. It is not spent on the thread of the tick.
pub(crate) const INIT_TIME_MAX: Duration = Duration::from_secs(1);
/// Factor of time limits in a replay, which may run on a slower machine and must not stop where the match did not.
pub(crate) const REPLAY_TIME_FACTOR: u32 = 100;
