//! The sandbox in a room: deterministic, consistent for all clients, without allocations.

mod allocations;
mod battle;
mod client_flight;
mod golden;
mod recordings;
mod storm;
mod support;
mod threads;
mod visibility;
