//! Leaderboards and profiles over HTTP, through the router and without a socket.

#[path = "../storage/desk.rs"]
mod desk;
mod profiles;
mod records;
