//! Lua scripts through a running server.

mod calls;
mod docs;
mod limits;
mod matches;
mod reload;
mod support;
