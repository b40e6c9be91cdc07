//! The sandbox rules.
