//! Tests of the client API through its router, without a socket, and of the listener.

mod account_owner;
mod calls;
mod client_account;
mod common;
mod group;
mod leaderboard;
mod listener;
mod moderation;
mod names;
mod storage;
mod world;
