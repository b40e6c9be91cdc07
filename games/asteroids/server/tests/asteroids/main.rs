//! Asteroids in a room, over simulated networks.

mod flying;
mod games;
mod high_scores;
mod load;
mod shooting;
mod storm;
mod support;
