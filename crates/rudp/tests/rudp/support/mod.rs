//! Two endpoints in virtual time.

pub mod pair;

pub use pair::Pair;
