//! The sandbox in a room: the same everywhere, for everyone, and without waste.

mod allocations;
mod golden;
mod recordings;
mod sight;
mod storm;
mod support;
mod threads;
