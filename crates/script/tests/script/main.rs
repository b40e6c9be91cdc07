//! Lua scripts through a running server.

mod calls;
mod docs;
mod limits;
mod match_rooms;
mod matches;
mod reload;
mod support;
mod viewer;
mod world;
