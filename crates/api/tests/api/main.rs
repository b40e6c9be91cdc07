//! Tests of the client API through its router, without a socket.

mod around;
mod calls;
mod client_account;
mod desk;
mod leaderboard;
mod storage;
