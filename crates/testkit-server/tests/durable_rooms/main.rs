//! Rooms that outlast the server, and what rooms ask of the services: the real program, killed and started again.

mod arena;
mod killed;
mod outage;
mod requests;
mod support;
