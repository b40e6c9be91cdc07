//! Packing by types and by descriptions, one subject per file.

mod replicate;
mod runtime;
