//! Spatial indexes and interest sets.
