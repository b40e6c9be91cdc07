//! A server's protobuf frame is rejected, or survives a round trip.

#![no_main]

use aether_wire::ServerMessage;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = ServerMessage::decode(bytes) else {
        return;
    };
    let mut again = Vec::new();
    message.encode(&mut again).expect("a decoded message can be encoded");
    assert_eq!(ServerMessage::decode(&again), Ok(message));
});
