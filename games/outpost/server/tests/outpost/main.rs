//! Outpost in a room, over simulated networks.

mod build_commands;
mod building;
mod capture;
mod characters;
mod durable;
mod prediction;
mod scene;
mod shooting;
mod storm;
mod support;
mod walking;
