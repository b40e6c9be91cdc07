//! Lua scripts through a running server.

mod calls;
mod docs;
mod fuzz;
mod limits;
mod matches;
mod reload;
mod support;
