//! Rate limits, and shares of a limit.
//!
//! A [`TokenBucket`] limits a rate. [`KeyedShares`] and [`NetworkShares`] limit a number at a time. Neither reads a clock or waits.

mod bucket;
mod networks;
mod shares;

pub use bucket::{RateLimit, TokenBucket};
pub use networks::{Network, NetworkShare, NetworkShares, network_of, networks_of};
pub use shares::{KeyedShare, KeyedShares};
