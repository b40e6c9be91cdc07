//! Outpost in a room, over networks in memory.

mod building;
mod deeds;
mod durable;
mod prediction;
mod scene;
mod shooting;
mod storm;
mod support;
mod walking;
