//! Tests of the server: parts without sockets (configuration, keys, tokens, commands, logs), and the whole server over
//! sockets.

mod commands;
mod config;
mod keys;
mod logging;
mod metrics_page;
mod sockets;
mod tokens;
