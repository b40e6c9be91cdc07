//! The native shell of the Rust client: Outpost over real sockets, from joining to leaving.

mod certificate;
mod flood;
mod play;
mod proxy;
mod recovery;
mod support;
mod tokens;
