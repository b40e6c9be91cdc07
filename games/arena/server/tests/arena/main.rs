//! Arena in a room, over networks in memory.

mod bots;
mod eating;
mod kept;
mod support;
