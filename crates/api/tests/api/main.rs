//! Tests of the client API through its router, without a socket.

mod account_owner;
mod calls;
mod client_account;
mod common;
mod leaderboard;
mod names;
mod storage;
mod world;
