//! Tests of the test tools: bad networks, clients against a room, whole runs, and games that are there twice.

mod conditioner;
mod harness;
mod runtime_games;
mod simulation;
