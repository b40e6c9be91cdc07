//! Reliable UDP: play, limits, and bad input of every kind.

mod bad_input;
mod handshake;
mod play;
mod support;
