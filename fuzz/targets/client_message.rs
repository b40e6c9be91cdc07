//! A client's protobuf frame is refused, or means the same after being written again.

#![no_main]

use aether_wire::ClientMessage;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = ClientMessage::decode(bytes) else {
        return;
    };
    let mut again = Vec::new();
    message.encode(&mut again).expect("what was accepted can be sent");
    assert_eq!(ClientMessage::decode(&again), Ok(message));
});
