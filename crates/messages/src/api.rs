//! Requests and answers of the HTTP and gRPC API: package `nakama.api`, defined in `proto/api.proto`.
//!
//! Unknown JSON fields are ignored.
#![expect(missing_docs, reason = "a field's name and the sentence on its message say what it holds")]

include!(concat!(env!("OUT_DIR"), "/nakama.api.rs"));
include!(concat!(env!("OUT_DIR"), "/nakama.api.json.rs"));
