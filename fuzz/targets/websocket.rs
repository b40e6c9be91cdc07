//! WebSocket bytes from a hostile peer: they mean the same in any chunks, and use no more memory than was received.

#![no_main]

use aether_framing::websocket::codec::{Decoder, Incoming, ProtocolError, Role};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 1_000;

fuzz_target!(|input: (bool, bool, u8, &[u8])| {
    let (server, compressed, cut, bytes) = input;
    let decoder = || Decoder::new(if server { Role::Server } else { Role::Client }, LIMIT).compressed(compressed);
    let whole = decode(decoder(), bytes, bytes.len());
    assert_eq!(decode(decoder(), bytes, usize::from(cut)), whole);
});

fn decode(mut decoder: Decoder, bytes: &[u8], chunk_bytes: usize) -> (Vec<String>, Option<ProtocolError>) {
    let mut received = Vec::new();
    for chunk in bytes.chunks(chunk_bytes.max(1)) {
        let result = decoder.feed(&mut chunk.to_vec(), &mut |incoming| {
            if let Incoming::Binary(payload) = incoming {
                assert!(payload.len() <= LIMIT);
            }
            received.push(format!("{incoming:?}"));
        });
        // Vectors double as they grow: one has the frame, the other the previous fragments.
        assert!(decoder.buffered_bytes() <= 4 * LIMIT + 64);
        if let Err(error) = result {
            return (received, Some(error));
        }
    }
    (received, None)
}
