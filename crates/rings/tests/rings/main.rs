//! Tests of rings between threads and between processes.
#![cfg(target_os = "linux")]

mod crash;
mod exchange;
mod handshake;
mod support;
