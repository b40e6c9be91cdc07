//! Compressed headers of a WebTransport session request: any bytes are decoded or rejected.

#![no_main]

use aether_framing::http3::session_request;
use aether_wire::{Destination, Encodings};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|headers: &[u8]| {
    if let Ok(Some(request)) = session_request(headers.to_vec()) {
        let _ = Destination::of(request.path(), &Encodings::default());
    }
});
