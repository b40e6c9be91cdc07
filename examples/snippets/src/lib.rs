//! The Rust code of README.md and docs/, compiled. See build.rs.
#![expect(unused, clippy::all, reason = "snippets show one thing each")]

include!(concat!(env!("OUT_DIR"), "/snippets.rs"));
