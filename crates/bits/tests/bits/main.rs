//! Packing by types and by descriptions, one subject per file.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod replicate;
mod runtime;
