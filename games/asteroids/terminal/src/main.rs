//! Asteroids in the terminal.

fn main() {}
