//! A server's JSON envelope is refused, or means the same after being written again.

#![no_main]

use aether_wire::ServerMessage;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = ServerMessage::decode_json(bytes) else {
        return;
    };
    let mut again = Vec::new();
    message.encode_json(&mut again).expect("what was accepted can be sent");
    assert_eq!(ServerMessage::decode_json(&again), Ok(message));
});
