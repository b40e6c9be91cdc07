//! The services socket (`/ws`).

mod admission;
mod bad_input;
mod functions;
mod sessions;
mod status;
