//! Behaviour of the query language and of the index.

mod index;
mod language;
mod random;
mod refusals;
