//! Tests of the docs for game authors.

mod docs;
mod reference;
