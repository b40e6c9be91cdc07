//! The services socket (`/ws`).

mod admission;
mod bad_input;
mod functions;
mod matchmaker;
mod party;
mod sessions;
mod status;
