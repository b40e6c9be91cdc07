//! Tests of the test tools: bad networks, clients against a room, and whole runs.

mod conditioner;
mod harness;
mod simulation;
