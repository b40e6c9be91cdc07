//! Lua scripts through a running server.

mod calls;
mod matches;
mod support;
mod viewer;
mod world;
