//! Rooms that outlast the server: the real program, killed and started again.

mod arena;
mod killed;
mod outage;
