//! Tests of the client API through its router, without a socket.

mod around;
mod client_account;
mod desk;
mod leaderboard;
mod storage;
