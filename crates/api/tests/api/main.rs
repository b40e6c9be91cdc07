//! Tests of the client API through its router, without a socket, and of the listener.

mod calls;
mod client_account;
mod common;
mod leaderboard;
mod listener;
mod storage;
mod world;
