//! A client's JSON envelope is rejected, or survives a round trip.

#![no_main]

use aether_wire::ClientMessage;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = ClientMessage::decode_json(bytes) else {
        return;
    };
    let mut again = Vec::new();
    message.encode_json(&mut again).expect("a decoded message can be encoded");
    assert_eq!(ClientMessage::decode_json(&again), Ok(message));
});
