//! Lua scripts through a running server.

mod calls;
mod docs;
mod fuzz;
mod limits;
mod match_rooms;
mod matches;
mod reload;
mod support;
mod viewer;
mod world;
