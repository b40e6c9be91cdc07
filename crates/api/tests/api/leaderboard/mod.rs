//! Leaderboards, tournaments, brackets and profiles through the router, without a socket.

mod brackets;
mod profiles;
mod records;
mod tournaments;
