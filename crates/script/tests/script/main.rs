//! Lua scripts through a running server.

mod calls;
mod editor;
mod match_rooms;
mod matches;
mod quilt;
mod support;
mod viewer;
mod world;
