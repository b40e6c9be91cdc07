//! The services socket (`/ws`).

mod admission;
mod bad_input;
mod chat;
mod flood;
mod frames;
mod functions;
mod matches;
mod matchmaker;
mod membership;
mod party;
mod sessions;
mod status;
