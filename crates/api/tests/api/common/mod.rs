//! Behaviour that all operations of the client API share: rate limits, compression and metrics; and account data.

mod account;
mod bodies;
mod rates;
