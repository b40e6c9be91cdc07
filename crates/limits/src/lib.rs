//! Limits on how often something happens and on how much of it one peer holds.
//!
//! A [`TokenBucket`] bounds a rate, [`KeyedShares`] bound a number at a time. Neither reads a clock nor waits.

mod bucket;
mod shares;

pub use bucket::{RateLimit, TokenBucket};
pub use shares::{KeyedShare, KeyedShares, network_of};
