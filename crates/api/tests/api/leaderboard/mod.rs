//! Leaderboards and profiles through the router, without a socket.

mod profiles;
mod records;
