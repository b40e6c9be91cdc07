//! Lua scripts through a running server.

mod calls;
mod events;
mod hooks;
mod indexes;
mod lifecycle;
mod match_rooms;
mod matches;
mod routes;
mod rpc;
mod schedules;
mod support;
mod viewer;
mod world;
