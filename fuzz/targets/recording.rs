//! Recordings with any content: an accepted one survives a round trip.

#![no_main]

use aether_engine::recording::Recording;
use libfuzzer_sys::fuzz_target;

/// Header of a game without a name, at 20 ticks per second, without a checkpoint.
const HEADER: &[u8] = b"AETHREC\x03\0\0\0\0\0\0\0\0\0\x14\0\0\0\0\0\0\0\0\0";

fuzz_target!(|input: (bool, &[u8])| {
    let (with_header, bytes) = input;
    let bytes = if with_header { [HEADER, bytes].concat() } else { bytes.to_vec() };
    if let Ok(recording) = Recording::from_bytes(&bytes) {
        assert_eq!(Recording::from_bytes(&recording.to_bytes()).as_ref(), Ok(&recording));
    }
});
