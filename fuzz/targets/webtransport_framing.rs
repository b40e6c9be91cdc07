//! Stream of a WebTransport client: its messages are the same in any chunks, and none is longer than allowed.

#![no_main]

use aether_framing::FramingError;
use aether_framing::stream::{Decoder, append};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 300;

fuzz_target!(|input: (u8, &[u8])| {
    let (cut, bytes) = input;
    let (whole, end) = decode(bytes, bytes.len());
    assert_eq!(decode(bytes, usize::from(cut)), (whole.clone(), end));
    let mut again = Vec::new();
    whole.iter().for_each(|message| append(&mut again, message));
    assert!(bytes.starts_with(&again), "a message has one encoding");
});

fn decode(bytes: &[u8], chunk_bytes: usize) -> (Vec<Vec<u8>>, Option<FramingError>) {
    let mut decoder = Decoder::new(LIMIT);
    let mut received = Vec::new();
    for chunk in bytes.chunks(chunk_bytes.max(1)) {
        let result = decoder.feed(chunk, &mut |message| received.push(message.to_vec()));
        assert!(received.last().is_none_or(|message| !message.is_empty() && message.len() <= LIMIT));
        if let Err(violation) = result {
            return (received, Some(violation));
        }
    }
    (received, None)
}
