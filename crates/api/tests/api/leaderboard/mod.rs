//! Leaderboards and profiles over HTTP, through the router and without a socket.

mod profiles;
mod records;
