//! Tests in network namespaces of their own: the program and its clients, each with a network interface and an address.
//!
//! They need root and the program `ip` (package iproute2), and say so if they are skipped.

mod forwarder;
mod game;
mod lan;
mod namespaces;
mod process;
