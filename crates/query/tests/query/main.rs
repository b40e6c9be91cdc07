//! Behaviour of the query language and of the index.

mod errors;
mod index;
mod language;
mod random;
