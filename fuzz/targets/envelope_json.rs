//! A text frame of the services socket is rejected, or survives a round trip, and means the same as its binary form.

#![no_main]

use aether_messages::prost::Message;
use aether_messages::socket::{decode_json, decode_protobuf};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(envelope) = decode_json(|| serde_json::from_slice(bytes)) else { return };
    let binary = envelope.encode_to_vec();
    let text = serde_json::to_vec(&envelope).expect("a frame that was read has a JSON form");
    let again = decode_json(|| serde_json::from_slice(&text)).expect("a written frame is read");
    assert_eq!(again.encode_to_vec(), binary);
    assert_eq!(decode_protobuf(&binary).expect("an encoded frame is read").encode_to_vec(), binary);
});
