//! Tests of the server: its parts that need no socket (configuration, keys, tokens, commands, logs), and all of it over
//! sockets.

mod commands;
mod config;
mod keys;
mod logging;
mod metrics_page;
mod sockets;
mod tokens;
