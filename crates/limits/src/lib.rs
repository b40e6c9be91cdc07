//! Limits on how often something happens and on how much of it one peer holds.
//!
//! A [`Bucket`] bounds a rate, [`Shares`] bound a number at a time. Neither reads a clock nor waits.

mod bucket;
mod shares;

pub use bucket::{Bucket, Rate};
pub use shares::{Share, Shares, network_of};
