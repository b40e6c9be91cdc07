//! What is around all operations of the client API: limits, compression, figures; and what one's own account tells.

mod account;
mod bodies;
mod rates;
