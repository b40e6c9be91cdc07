//! Asteroids on the server, at 60 ticks per second.
