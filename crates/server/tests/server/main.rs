//! Tests of the server's parts that need no socket: configuration, keys, tokens, commands and logs.

mod commands;
mod config;
mod keys;
mod logging;
mod tokens;
