//! Frames of the realtime socket: package `nakama.realtime`, defined in `proto/realtime.proto`.
//!
//! An unknown JSON field makes the frame malformed, also inside the [`api`](super::api) messages that a frame carries.
#![expect(missing_docs, reason = "a field's name and the sentence on its message say what it holds")]

include!(concat!(env!("OUT_DIR"), "/nakama.realtime.rs"));
include!(concat!(env!("OUT_DIR"), "/nakama.realtime.json.rs"));
