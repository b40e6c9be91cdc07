//! Tests of the test tools: bad networks, clients of a room, whole runs, and games in two forms.

mod conditioner;
mod harness;
mod runtime_games;
mod simulation;
