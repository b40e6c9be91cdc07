//! The Replicate derive.
