//! Durable rooms: the program is killed and restarted.

mod arena;
mod killed;
mod limits;
mod outage;
