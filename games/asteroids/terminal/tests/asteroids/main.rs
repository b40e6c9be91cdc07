//! The client against the game: in virtual time, and in a real terminal.

mod flight;
mod headless;
mod prediction;
mod server;
mod terminal;
mod tmux;
