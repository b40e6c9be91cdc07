//! A binary frame of the services socket is rejected, or survives a round trip.

#![no_main]

use aether_messages::prost::Message;
use aether_messages::socket::decode_protobuf;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(envelope) = decode_protobuf(bytes) else { return };
    let again = envelope.encode_to_vec();
    // Numbers that are not equal to themselves have the same bytes.
    assert_eq!(decode_protobuf(&again).expect("an encoded frame is read").encode_to_vec(), again);
});
