//! A server's JSON envelope is rejected, or survives a round trip.

#![no_main]

use aether_wire::ServerMessage;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = ServerMessage::decode_json(bytes) else {
        return;
    };
    let mut again = Vec::new();
    message.encode_json(&mut again).expect("a decoded message can be encoded");
    assert_eq!(ServerMessage::decode_json(&again), Ok(message));
});
