//! A descriptor from a hostile peer is rejected, or survives a round trip and can be used to read values.

#![no_main]

use aether_bits::{BitReader, DeltaBasis, Schema};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], &[u8])| {
    let (values, descriptor) = input;
    let Ok(schema) = Schema::from_bytes(descriptor) else {
        return;
    };
    let again = Schema::from_bytes(&schema.to_bytes());
    assert_eq!(again.as_ref(), Ok(&schema));
    let mut reader = BitReader::new(values);
    for record in schema.components.iter().chain(&schema.events) {
        // Any result is fine, as long as there is no panic.
        let initial = record.kind.initial();
        let _ = record.kind.read_delta(DeltaBasis::new(&initial), &mut reader);
    }
});
