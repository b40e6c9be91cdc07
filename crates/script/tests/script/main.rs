//! Lua scripts through a running server.

mod calls;
mod match_rooms;
mod matches;
mod support;
mod viewer;
mod world;
