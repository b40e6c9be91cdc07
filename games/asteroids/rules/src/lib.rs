//! Deterministic rules of Asteroids: thrust, turn, shoot, split.
