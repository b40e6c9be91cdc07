//! Rate limits, and shares of a limit.
//!
//! A [`TokenBucket`] limits a rate. [`KeyedShares`] limit a number at a time. Neither reads a clock or waits.

mod bucket;
mod shares;

pub use bucket::{RateLimit, TokenBucket};
pub use shares::{KeyedShare, KeyedShares, network_of};
