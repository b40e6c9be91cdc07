//! A client's JSON envelope is refused, or means the same after being written again.

#![no_main]

use aether_wire::ClientMessage;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = ClientMessage::decode_json(bytes) else {
        return;
    };
    let mut again = Vec::new();
    message.encode_json(&mut again).expect("what was accepted can be sent");
    assert_eq!(ClientMessage::decode_json(&again), Ok(message));
});
