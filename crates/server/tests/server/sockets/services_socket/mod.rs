//! The services socket (`/ws`).

mod admission;
mod bad_input;
mod functions;
mod matches;
mod membership;
mod sessions;
mod status;
