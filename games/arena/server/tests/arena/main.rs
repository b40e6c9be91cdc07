//! Arena in a room, over simulated networks.

mod bots;
mod eating;
mod profiles;
mod support;
